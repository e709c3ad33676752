#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>

using namespace ftlfeed::core;

TEST_CASE("core.feed_key: a key reads back from its text with and without a filter") {
    CHECK(FeedKey::parse("wc2026/timeline/19").doc_key() == "wc2026/timeline/19");
    CHECK(FeedKey::parse("wc2026/calendar").filter().empty());
    CHECK(FeedKey::parse("wc2026/calendar") == FeedKey("wc2026", "calendar"));
    CHECK(FeedKey("a", "b", "c") != FeedKey("a", "b"));
}

TEST_CASE("core.feed_key: no part can leave its folder or carry a control") {
    for (const char* bad :
         {"", "a", "a/b/", "/a/b", "a//b", "a/b/c/d", "../b", "a/..", "A/b", "a/b c", "a/b\n", "a/ä"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(static_cast<void>(FeedKey::parse(bad)), InvalidInput);
    }
    CHECK_THROWS_AS(FeedKey("a", std::string("b\0c", 3)), InvalidInput);
}

TEST_CASE("core.feed_key: a part has 100 characters at most") {
    CHECK(FeedKey::is_valid_part(std::string(100, 'a')));
    CHECK_FALSE(FeedKey::is_valid_part(std::string(101, 'a')));
    CHECK_FALSE(FeedKey::is_valid_part(""));
}

TEST_CASE("core.feed_key: the message names the part that is wrong") {
    try {
        FeedKey("wc2026", "Timeline");
        FAIL("it was taken");
    } catch (const InvalidInput& error) {
        CHECK(std::string(error.what()).find("feed type") != std::string::npos);
        CHECK(std::string(error.what()).find("\"Timeline\"") != std::string::npos);
    }
}
