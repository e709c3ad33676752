#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/version.hpp>

#include "support/rng.hpp"

using namespace ftlfeed::core;

TEST_CASE("core.version: the text is fixed in width and reads back") {
    const Version version{1796022844, 42, 3};
    CHECK(version.text() == "1796022844:00000000000000000042:0000000003");
    CHECK(Version::parse(version.text()) == version);
    CHECK(Version{}.is_none());
    CHECK_FALSE(version.is_none());
}

TEST_CASE("core.version: the order of texts is the order of versions") {
    FTL_RNG(rng);
    const auto some = [&] {
        return Version{rng.between(0, 3), rng.between(0, INT64_C(9007199254740993)), rng.between(0, 3)};
    };
    for (int i = 0; i < 1000; ++i) {
        const auto a = some();
        const auto b = some();
        CHECK((a < b) == (a.text() < b.text()));
        CHECK((a == b) == (a.text() == b.text()));
    }
}

TEST_CASE("core.version: what is no version is refused") {
    for (const char* bad :
         {"", "1:2:3", "1796022844:00000000000000000042:000000000", "1796022844:00000000000000000042:00000000033",
          "1796022844:0000000000000000004x:0000000003", "-796022844:00000000000000000042:0000000003",
          "1796022844:99999999999999999999:0000000003", "1796022844-00000000000000000042-0000000003"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(static_cast<void>(Version::parse(bad)), InvalidInput);
    }
}
