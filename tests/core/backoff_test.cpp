#include <doctest/doctest.h>

#include <ftlfeed/core/backoff.hpp>

using namespace ftlfeed::core;
using std::chrono::milliseconds;

TEST_CASE("core.backoff: the ceiling doubles from the first length to the cap") {
    const auto top = [](int attempt) { return full_jitter(attempt, milliseconds(100), milliseconds(1000), 0.9999); };
    CHECK(top(1) == milliseconds(99));
    CHECK(top(2) == milliseconds(199));
    CHECK(top(4) == milliseconds(799));
    CHECK(top(5) == milliseconds(999));
    CHECK(top(1'000'000) == milliseconds(999));
}

TEST_CASE("core.backoff: jitter spreads from nothing to the ceiling") {
    CHECK(full_jitter(3, milliseconds(100), milliseconds(1000), 0) == milliseconds(0));
    CHECK(full_jitter(3, milliseconds(100), milliseconds(1000), 0.5) == milliseconds(200));
    CHECK(full_jitter(9, milliseconds(0), milliseconds(1000), 0.5) == milliseconds(0));
    CHECK(full_jitter(2, milliseconds(500), milliseconds(100), 0.5) == milliseconds(50));
    CHECK(full_jitter(99, milliseconds(1), milliseconds::max(), 0.5) <= milliseconds::max());
}

TEST_CASE("core.backoff: one seed gives one row of jitters in range") {
    Jitter a(7);
    Jitter b(7);
    for (int i = 0; i < 1000; ++i) {
        const double value = a();
        CHECK(value == b());
        CHECK(value >= 0);
        CHECK(value < 1);
    }
}
