// What needs no database.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include <ftlfeed/build/content_hash.hpp>
#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/build/resolver.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

#include "build/claim.hpp"

using namespace ftlfeed;
using build::content_hash;

TEST_CASE("build.content_hash: without volatile members it is that of the bytes") {
    CHECK(content_hash("no json at all", {}) == core::sha256("no json at all"));
    CHECK(content_hash("", {}) == core::sha256(""));
    CHECK(content_hash(R"({"a":1})", {}) != content_hash(R"({"a": 1})", {}));
}

TEST_CASE("build.content_hash: volatile members and white space do not count and all else does") {
    const std::vector<std::string> pointers{"/made", "/list/0/at", "/a~1b"};
    const auto hash = [&](std::string_view body) { return content_hash(body, pointers); };
    const auto base = hash(R"({"made":1,"v":1,"list":[{"at":1,"n":1},{"at":1}],"a/b":1})");
    struct Row {
        const char* what;
        const char* body;
        bool is_same;
    };
    const Row rows[] = {
        {"another time", R"({"made":2,"v":1,"list":[{"at":9,"n":1},{"at":1}],"a/b":7})", true},
        {"no time at all", R"({"v":1,"list":[{"n":1},{"at":1}]})", true},
        {"white space", R"({ "made": 1, "v": 1, "list": [ {"at": 1, "n": 1}, {"at": 1} ], "a/b": 1 })", true},
        {"another value", R"({"made":1,"v":2,"list":[{"at":1,"n":1},{"at":1}],"a/b":1})", false},
        {"a number as text", R"({"made":1,"v":"1","list":[{"at":1,"n":1},{"at":1}],"a/b":1})", false},
        {"a number written otherwise", R"({"made":1,"v":1.0,"list":[{"at":1,"n":1},{"at":1}],"a/b":1})", false},
        {"the same member elsewhere", R"({"made":1,"v":1,"list":[{"at":1,"n":1},{"at":2}],"a/b":1})", false},
        {"another order of members", R"({"v":1,"made":1,"a/b":1,"list":[{"n":1,"at":1},{"at":1}]})", true},
        {"a member more", R"({"made":1,"v":1,"list":[{"at":1,"n":1},{"at":1}],"a/b":1,"x":null})", false},
    };
    for (const auto& row : rows) {
        INFO(row.what);
        CHECK((hash(row.body) == base) == row.is_same);
    }
}

TEST_CASE("build.content_hash: long numbers that look alike as doubles stay apart") {
    const std::vector<std::string> pointers{"/made"};
    CHECK(content_hash(R"({"id":12345678901234567890123})", pointers) !=
          content_hash(R"({"id":12345678901234567890124})", pointers));
    CHECK(content_hash(R"({"id":"n1"})", pointers) != content_hash(R"({"id":1})", pointers));
}

TEST_CASE("build.content_hash: a body that is no JSON and a pointer that is none are refused") {
    const std::vector<std::string> pointers{"/made"};
    for (const char* body : {"", "{", "{\"a\":1}x", "{\"a\":\"\xff\"}", "[1,]", "nul"}) {
        INFO(body);
        CHECK_THROWS_AS((void)content_hash(body, pointers), core::Failure);
    }
    const std::vector<std::string> wrong{"made"};
    CHECK_THROWS_WITH_AS((void)content_hash("{}", wrong), doctest::Contains("'made'"), core::Failure);
    // Nesting cannot use the stack up.
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    CHECK_THROWS_AS((void)content_hash(deep, pointers), core::Failure);
}

TEST_CASE("build.back_off: it doubles up to its cap and half of it is jitter") {
    using std::chrono::milliseconds;
    const build::BuildSettings settings{milliseconds(1000), milliseconds(60'000), 3};
    struct Row {
        int failures;
        int least_ms, most_ms;
    };
    constexpr Row kRows[] = {{1, 500, 1000},
                             {2, 1000, 2000},
                             {3, 2000, 4000},
                             {6, 16'000, 32'000},
                             {7, 30'000, 60'000},
                             {8, 30'000, 60'000},
                             {1'000'000, 30'000, 60'000}};
    for (const auto& row : kRows) {
        INFO(row.failures);
        CHECK(build::build_retry_delay(row.failures, settings, 0.0) == milliseconds(row.least_ms));
        CHECK(build::build_retry_delay(row.failures, settings, 1.0) == milliseconds(row.most_ms));
        CHECK(build::build_retry_delay(row.failures, settings, 0.5) > milliseconds(row.least_ms));
    }
}

TEST_CASE("build.marked_key: a file or an enumeration and nothing else") {
    const auto file = build::parse_marked_key("wc/timeline/7");
    CHECK(file.event == "wc");
    CHECK(file.feed_type == "timeline");
    CHECK(file.filter == "7");
    CHECK(!file.is_enumeration);
    const auto listing = build::parse_marked_key(build::enumeration_key("wc", "timeline"));
    CHECK(listing.event == "wc");
    CHECK(listing.feed_type == "timeline");
    CHECK(listing.filter.empty());
    CHECK(listing.is_enumeration);
    for (const char* wrong : {"", "wc", "/*", "wc/*", "wc//*", "wc/a/b/c", "wc/a/b/*", "WC/a", "wc/a/..", "wc/a/**"}) {
        INFO(wrong);
        CHECK_THROWS_AS((void)build::parse_marked_key(wrong), core::InvalidInput);
    }
}

TEST_CASE("build.registry: it knows sql and refuses a name that is unknown") {
    const build::ResolverRegistry registry;
    CHECK_NOTHROW((void)registry.find("sql"));
    CHECK_THROWS_WITH_AS((void)registry.find("nobody"), doctest::Contains("'nobody'"), core::Failure);
}
