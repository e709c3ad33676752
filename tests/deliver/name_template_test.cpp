#include <ftlfeed/deliver/name_template.hpp>

#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/core/failure.hpp>

#include "support/rng.hpp"

using ftlfeed::core::FeedKey;
using ftlfeed::core::InvalidInput;
using namespace ftlfeed::deliver;

TEST_CASE("deliver.name_template: the default template gives the client's tree") {
    const NameTemplate names("{event}/{feed_type}{/filter}.json");
    CHECK(names.path_of(FeedKey("wc2026", "calendar")).text() == "wc2026/calendar.json");
    CHECK(names.path_of(FeedKey("wc2026", "timeline", "18535517")).text() == "wc2026/timeline/18535517.json");
}

TEST_CASE("deliver.name_template: a template that could leave the folder is refused") {
    for (const char* text : {"../{event}.json", "{event}/../x", "/{event}.json", "{event}/..", "..", ".", "./{event}",
                             "{event}//x", "{event}/", "", "a\\b", "{event}/.hidden", ".{event}"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(NameTemplate{text}, InvalidInput);
    }
}

TEST_CASE("deliver.name_template: CR and LF and NUL and other control characters are refused") {
    for (const std::string& text : {std::string("a\r\nDELE b"), std::string("a\nb"), std::string("a\rb"),
                                    std::string("a\0b", 3), std::string("a\tb"), std::string("a\x7f")}) {
        CAPTURE(text);
        CHECK_THROWS_AS(NameTemplate{text}, InvalidInput);
        CHECK_THROWS_AS(RemotePath{text}, InvalidInput);
    }
}

TEST_CASE("deliver.name_template: an unknown or unclosed brace is refused and the known ones are named") {
    for (const char* text : {"{evnt}.json", "{event", "event}", "{}", "{{event}}", "{/event}"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(NameTemplate{text}, InvalidInput);
    }
    try {
        NameTemplate("{evnt}.json");
    } catch (const InvalidInput& refusal) {
        CHECK(std::string(refusal.what()).find("{feed_type}") != std::string::npos);
    }
}

TEST_CASE("deliver.name_template: an empty filter where a name is needed is the trouble of that file alone") {
    const NameTemplate names("{event}/{feed_type}/{filter}");
    CHECK(names.path_of(FeedKey("e", "timeline", "7")).text() == "e/timeline/7");
    CHECK_THROWS_AS(static_cast<void>(names.path_of(FeedKey("e", "calendar"))), InvalidInput);
}

TEST_CASE("deliver.remote_path: parts and whole have their bounds") {
    CHECK_NOTHROW(RemotePath(std::string(RemotePath::kPartBytesMax, 'a')));
    CHECK_THROWS_AS(RemotePath(std::string(RemotePath::kPartBytesMax + 1, 'a')), InvalidInput);
    std::string deep = "a";
    while (deep.size() + 2 <= RemotePath::kBytesMax) deep += "/a";
    CHECK_NOTHROW(RemotePath{deep});
    CHECK_THROWS_AS(RemotePath(deep + "/aa"), InvalidInput);
    CHECK_THROWS_AS(RemotePath("caf\xe9.json"), InvalidInput);
    const RemotePath path("a/b/c.json");
    CHECK(path.folders() == std::vector<std::string>{"a", "b"});
    CHECK(path.name() == "c.json");
}

TEST_CASE("deliver.name_template: no text whatsoever gives a path outside the folder") {
    FTL_RNG(rng);
    const std::string alphabet = "{}/.\\evntfilr_typd\r\n";
    const std::vector<std::string> pieces{"{event}", "{feed_type}", "{filter}", "{/filter}", "..", "/", ".", "a"};
    for (int round = 0; round < ftl::test::rounds(20'000, 500'000); ++round) {
        std::string text;
        for (auto i = rng.between(0, 8); i > 0; --i) {
            if (rng.chance(0.6)) {
                text += pieces[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(pieces.size()) - 1))];
            } else {
                text +=
                    alphabet[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(alphabet.size()) - 1))];
            }
        }
        try {
            const auto path = "/" + NameTemplate(text).path_of(FeedKey("ev", "ft", "fi")).text() + "/";
            CAPTURE(text);
            REQUIRE(path.find("/../") == std::string::npos);
            REQUIRE(path.find("/./") == std::string::npos);
            REQUIRE(path.find("//") == std::string::npos);
            REQUIRE(path.find_first_of("\r\n\\") == std::string::npos);
        } catch (const InvalidInput&) {
            continue;  // Refused: as good.
        }
    }
}
