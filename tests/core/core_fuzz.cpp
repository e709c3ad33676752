#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/core/version.hpp>

#include "support/rng.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed::core;

namespace {

/// `seed_text` with some bytes changed, doubled or dropped.
std::string mutated(ftl::test::Rng& rng, std::string text) {
    for (auto changes = rng.between(0, 8); changes > 0 && !text.empty(); --changes) {
        const auto at = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(text.size()) - 1));
        switch (rng.between(0, 2)) {
            case 0:
                text[at] = static_cast<char>(rng.between(0, 255));
                break;
            case 1:
                text.insert(at, 1, static_cast<char>(rng.between(0, 255)));
                break;
            default:
                text.erase(at, static_cast<std::size_t>(rng.between(1, 4)));
        }
    }
    return text;
}

}  // namespace

TEST_CASE("core.fuzz: a configuration file is read or refused and nothing else") {
    FTL_RNG(rng);
    const ftl::test::TempFolder folder;
    for (int i = 0; i < ftl::test::rounds(300, 20'000); ++i) {
        std::string uri;
        std::int64_t workers = 1;
        std::vector<std::string> hosts;
        Settings settings;
        settings.bind("postgres.uri", uri, "");
        settings.bind("deliver.workers", workers, "", 1, 64);
        settings.bind("deliver.hosts", hosts, "");
        ftl::test::write_file(folder / "c",
                              mutated(rng, "[postgres]\nuri = \"a\"\n[deliver]\nworkers = 3\nhosts = ['a', 'b']\n"));
        try {
            settings.load({"--config", folder / "c"}, {});
            CHECK(workers >= 1);
            CHECK(workers <= 64);
        } catch (const InvalidInput&) {
            // Refused with a message: as good.
        }
    }
}

TEST_CASE("core.fuzz: keys and versions that are taken write back the same text") {
    FTL_RNG(rng);
    for (int i = 0; i < ftl::test::rounds(3000, 300'000); ++i) {
        const auto key = mutated(rng, "wc2026/timeline/19");
        try {
            const auto again = FeedKey::parse(key).doc_key();
            CHECK(again == key);
        } catch (const InvalidInput&) {
            // Refused: as good.
        }
        const auto version = mutated(rng, "1796022844:00000000000000000042:0000000003");
        try {
            const auto again = Version::parse(version).text();
            CHECK(again == version);
        } catch (const InvalidInput&) {
            // Refused: as good.
        }
    }
}

TEST_CASE("core.fuzz: quoting gives valid UTF-8 and gunzip never more than the limit") {
    FTL_RNG(rng);
    const auto packed = gzip(std::string(300, 'e') + "vents");
    for (int i = 0; i < ftl::test::rounds(2000, 200'000); ++i) {
        const auto bytes = mutated(rng, packed);
        CHECK(is_utf8(json_quoted(bytes)));
        CHECK(is_utf8(shorten(json_quoted(bytes), 100)));
        try {
            const auto size = gunzip(bytes, 1000).size();
            CHECK(size <= 1000);
        } catch (const Failure&) {
            // Refused: as good.
        }
    }
}
