#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/cache/keys.hpp>
#include <ftlfeed/core/failure.hpp>

#include "cache/version_text.hpp"

using namespace ftlfeed;
using cache::Key;

TEST_CASE("cache.keys: each kind of entry has its name") {
    const core::FeedKey feed("wc2026", "timeline", "m-17");
    CHECK(Key::document(feed).text() == "feed:d:wc2026/timeline/m-17");
    CHECK(Key::rendering("acme", feed).text() == "feed:c:acme:wc2026/timeline/m-17");
    CHECK(Key::bump(12).text() == "bump:12");
    CHECK(Key::bump_ready().text() == "bump:ready");
}

TEST_CASE("cache.keys: a name of other characters is no key") {
    for (const std::string text : {"", "a b", "a{b}", "a\nb", "k\xC3\xB6", "a*", "a\"b", "a;b"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(Key{text}, core::InvalidInput);
    }
    CHECK_THROWS_AS(Key(std::string("a\0b", 3)), core::InvalidInput);
    CHECK_NOTHROW(Key(std::string(Key::kBytesMax, 'a')));
    CHECK_THROWS_AS(Key(std::string(Key::kBytesMax + 1, 'a')), core::InvalidInput);
}

TEST_CASE("cache.keys: a client's code cannot reach into another client's entries") {
    const core::FeedKey feed("wc2026", "timeline");
    for (const std::string client : {"", "a:b", "A", "a/b", "a}", "a b"}) {
        CAPTURE(client);
        CHECK_THROWS_AS(Key::rendering(client, feed), core::InvalidInput);
    }
}

TEST_CASE("cache.version_text: what is no version counts as none") {
    CHECK(cache::version_in("0000000007:00000000000000000042:0000000003") == core::Version{7, 42, 3});
    for (const std::string text :
         {"", "7:42:3", "0000000007:00000000000000000042", "zzz", "0000000007:99999999999999999999:0000000003",
          "0000000007:00000000000000000042:0000000003 "}) {
        CAPTURE(text);
        CHECK_FALSE(cache::version_in(text));
    }
}
