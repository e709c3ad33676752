// The parts that decide without a network: paths, keys, conditions, codings, heads.

#include <doctest/doctest.h>

#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/serve/answer_head.hpp>
#include <ftlfeed/serve/coding.hpp>
#include <ftlfeed/serve/conditional.hpp>
#include <ftlfeed/serve/feed_path.hpp>
#include <ftlfeed/serve/presented_key.hpp>

#include "support/rng.hpp"

using namespace ftlfeed;
using namespace ftlfeed::serve;
using namespace std::string_view_literals;

namespace {

constexpr auto kTag = "\"1-5-1\""sv;

bool is_known_text(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("serve.path: a path names an event and a feed type and perhaps a filter") {
    const auto two = parse_feed_path("/feeds/wc2026/calendar");
    REQUIRE(two);
    CHECK(two->event == "wc2026");
    CHECK(two->feed_type == "calendar");
    CHECK(two->filter.empty());
    CHECK(two->doc_key == "wc2026/calendar");
    const auto three = parse_feed_path("/feeds/wc2026/timeline/18535517");
    REQUIRE(three);
    CHECK(three->filter == "18535517");
    CHECK(three->doc_key == "wc2026/timeline/18535517");
}

TEST_CASE("serve.path: nothing is decoded or made shorter so no spelling leaves the feeds") {
    for (const auto path : {"/feeds"sv,
                            "/feeds/"sv,
                            "/feeds/wc"sv,
                            "/feeds/wc/"sv,
                            "/feeds//calendar"sv,
                            "/feeds/wc//calendar"sv,
                            "/feeds/wc/calendar/"sv,
                            "/feeds/wc/calendar//"sv,
                            "/feeds/wc/calendar/a/b"sv,
                            "/feeds/wc/calendar/../x"sv,
                            "/feeds/../etc/passwd"sv,
                            "/feeds/wc/%2e%2e"sv,
                            "/feeds/wc/cal%2fendar"sv,
                            "/feeds/wc/%252e"sv,
                            "/feeds/wc\\calendar"sv,
                            "/feeds/wc/cal\0endar"sv,
                            "/feeds/wc/calendar\0"sv,
                            "/feeds/wc/\xc0\xae\xc0\xae"sv,
                            "/feeds/wc/\xff\xfe"sv,
                            "/feeds/WC/calendar"sv,
                            "/feeds/wc/calendar.json"sv,
                            "/feeds/wc/calendar;a=b"sv,
                            "/Feeds/wc/calendar"sv,
                            "//feeds/wc/calendar"sv,
                            "/./feeds/wc/calendar"sv,
                            "feeds/wc/calendar"sv,
                            ""sv,
                            "/"sv,
                            "*"sv,
                            "http://host/feeds/wc/calendar"sv}) {
        CHECK_MESSAGE(!parse_feed_path(path), core::json_quoted(path));
    }
    CHECK_FALSE(parse_feed_path("/feeds/wc/" + std::string(101, 'a')));
    CHECK(parse_feed_path("/feeds/wc/" + std::string(100, 'a')));
    CHECK_FALSE(parse_feed_path("/feeds/wc/" + std::string(100'000, 'a')));
}

TEST_CASE("serve.path: of random bytes only a key's own characters come through") {
    FTL_RNG(rng);
    const auto at_most = [&](std::size_t most) {
        return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(most)));
    };
    for (int i = 0; i < 200'000; ++i) {
        std::string path = "/feeds/";
        const auto length = at_most(11);
        for (std::size_t at = 0; at < length; ++at) {
            constexpr std::string_view kLikely = "a0/-_.%2e\\";
            path += at_most(3) == 0 ? static_cast<char>(static_cast<unsigned char>(at_most(255)))
                                    : kLikely[at_most(kLikely.size() - 1)];
        }
        const auto found = parse_feed_path(path);
        if (!found) continue;
        CHECK(found->doc_key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-/") == std::string_view::npos);
        CHECK("/feeds/" + std::string(found->doc_key) == path);
    }
}

TEST_CASE("serve.path: the query is parted at the first question mark") {
    CHECK(split_target("/feeds/a/b?key=x?y").path == "/feeds/a/b");
    CHECK(split_target("/feeds/a/b?key=x?y").query == "key=x?y");
    CHECK(split_target("/feeds/a/b").query.empty());
    CHECK(split_target("?").path.empty());
}

TEST_CASE("serve.key: a key stands in one of three places and a header beats the query") {
    CHECK(presented_key({"Bearer k1", "", ""}) == "k1");
    CHECK(presented_key({"bearer   k1 ", "", ""}) == "k1");
    CHECK(presented_key({"", " k2\t", ""}) == "k2");
    CHECK(presented_key({"", "", "key=k3"}) == "k3");
    CHECK(presented_key({"", "", "a=b&key=k3&c"}) == "k3");
    CHECK(presented_key({"Bearer k1", "k2", "key=k3"}) == "k1");
    CHECK(presented_key({"", "k2", "key=k3"}) == "k2");
}

TEST_CASE("serve.key: what is no key counts for none and hides behind no other place") {
    CHECK(presented_key({"", "", ""}).empty());
    CHECK(presented_key({"Basic azE=", "k2", "key=k3"}).empty());
    CHECK(presented_key({"Bearer", "", ""}).empty());
    CHECK(presented_key({"Bearerk1", "", ""}).empty());
    CHECK(presented_key({"", "", "monkey=k3"}).empty());
    CHECK(presented_key({"", "", "Key=k3"}).empty());
    CHECK(presented_key({"", "", "key"}).empty());
    CHECK(presented_key({"", "", "&&&"}).empty());
}

TEST_CASE("serve.key: a new key has 256 random bits and its digest is its SHA-256") {
    const auto one = make_key();
    const auto other = make_key();
    CHECK(one.reveal() != other.reveal());
    CHECK(one.reveal().size() == 68);
    const auto digest = key_digest(one.reveal());
    CHECK(core::hex({digest.begin(), digest.end()}) == core::sha256_hex(one.reveal()));
}

TEST_CASE("E43: a weak form of the tag matches and a suffixed one gives a 200") {
    CHECK(matches_any("\"1-5-1\"", kTag));
    CHECK(matches_any("W/\"1-5-1\"", kTag));
    CHECK_FALSE(matches_any("\"1-5-1-gzip\"", kTag));
    CHECK_FALSE(matches_any("W/\"1-5-1--gzip\"", kTag));
    CHECK_FALSE(matches_any("\"1-5-1;gzip\"", kTag));
    CHECK_FALSE(matches_any("\"1-5\"", kTag));
}

TEST_CASE("serve.conditional: lists and the star match and what is no list matches nothing more") {
    struct Row {
        std::string_view header;
        bool matches;
    };
    for (const auto& [header, matches] : {Row{"*", true},
                                          {" * ", true},
                                          {"\"a\", \"1-5-1\"", true},
                                          {"\"a\",\"1-5-1\",\"b\"", true},
                                          {" ,, \"a\" ,\tW/\"1-5-1\" , ", true},
                                          {"\"a\", *", false},
                                          {"1-5-1", false},
                                          {"'1-5-1'", false},
                                          {"\"1-5-1", false},
                                          {"\"a\" \"1-5-1\"", false},
                                          {"w/\"1-5-1\"", false},
                                          {"W/ \"1-5-1\"", false},
                                          {"\"a, \"1-5-1\"", false},
                                          {"\"\"", false},
                                          {",", false},
                                          {"", false}}) {
        CHECK_MESSAGE(matches_any(header, kTag) == matches, header);
    }
    std::string thousand;
    for (int i = 0; i < 1000; ++i) thousand += "\"tag" + std::to_string(i) + "\", ";
    CHECK_FALSE(matches_any(thousand, kTag));
    CHECK(matches_any(thousand + "\"1-5-1\"", kTag));
}

TEST_CASE("serve.conditional: random lists match exactly when the tag is among them") {
    FTL_RNG(rng);
    const auto at_most = [&](std::size_t most) {
        return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(most)));
    };
    for (int i = 0; i < 20'000; ++i) {
        std::string list;
        bool is_in = false;
        const auto size = 1 + at_most(5);
        for (std::size_t at = 0; at < size; ++at) {
            const bool is_ours = at_most(7) == 0;
            is_in = is_in || is_ours;
            if (at > 0) list += at_most(1) == 0 ? "," : " , ";
            if (at_most(1) == 0) list += "W/";
            list += is_ours ? "\"1-5-1\"" : "\"1-" + std::to_string(at_most(4)) + "-1\"";
        }
        CHECK_MESSAGE(matches_any(list, kTag) == is_in, list);
    }
}

TEST_CASE("serve.conditional: a date counts only where no tag is given") {
    constexpr std::time_t kModified = 784111777;  // 1994-11-06 08:49:37 UTC
    const auto check = [&](std::string_view tags, std::string_view date) {
        return is_not_modified({tags, date}, kTag, kModified);
    };
    CHECK(check("", "Sun, 06 Nov 1994 08:49:37 GMT"));
    CHECK(check("", "Sun, 06 Nov 1994 08:49:38 GMT"));
    CHECK_FALSE(check("", "Sun, 06 Nov 1994 08:49:36 GMT"));
    CHECK_FALSE(check("\"other\"", "Sun, 06 Nov 1994 08:49:38 GMT"));
    CHECK(check("\"1-5-1\"", "Sun, 06 Nov 1994 08:49:36 GMT"));
    CHECK_FALSE(check("", "yesterday"));
    CHECK_FALSE(check("", ""));
    CHECK_FALSE(is_not_modified({"", "Sun, 06 Nov 1994 08:49:38 GMT"}, kTag, std::nullopt));
}

TEST_CASE("serve.conditional: the three forms of a date are read and others are none") {
    constexpr std::time_t kTime = 784111777;
    CHECK(http_date(kTime) == "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK(http_date(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
    for (const auto text : {"Sun, 06 Nov 1994 08:49:37 GMT"sv, "Sunday, 06-Nov-94 08:49:37 GMT"sv,
                            "Sun Nov  6 08:49:37 1994"sv, " Sun, 06 Nov 1994 08:49:37 GMT "sv}) {
        CHECK(parse_http_date(text) == kTime);
    }
    for (const auto text :
         {""sv, "Sun"sv, "Sun, 06 Nov 1994 08:49:37"sv, "Sun, 06 Nov 1994 08:49:37 CET"sv,
          "Sun, 31 Nov 1994 08:49:37 GMT"sv, "Sun, 06 Nov 1994 24:49:37 GMT"sv, "Sun, 6 Nov 1994 08:49:37 GMT"sv,
          "Sun, 06 Nov 1994 08:49:37 GMT x"sv, "784111777"sv, "Sun, 06 NOV 1994 08:49:37 GMT"sv,
          "Sun, -6 Nov 1994 08:49:37 GMT"sv, "Sun Nov  6 08:49:37"sv}) {
        CHECK_MESSAGE(!parse_http_date(text), text);
    }
}

TEST_CASE("serve.conditional: every date that is written is read as the same second") {
    FTL_RNG(rng);
    for (int i = 0; i < 20'000; ++i) {
        const auto time = static_cast<std::time_t>(rng.between(0, 7'000'000'000));
        CHECK(parse_http_date(http_date(time)) == time);
    }
}

TEST_CASE("serve.coding: the greater q wins and gzip where they are equal") {
    struct Row {
        std::string_view header;
        std::optional<Coding> coding;
    };
    for (const auto& [header, coding] : {Row{"", Coding::kPlain},
                                         {"gzip", Coding::kGzip},
                                         {"gzip, deflate, br, zstd", Coding::kGzip},
                                         {"GZip", Coding::kGzip},
                                         {"x-gzip", Coding::kGzip},
                                         {"deflate, gzip;q=1.0, *;q=0.5", Coding::kGzip},
                                         {"gzip;q=0", Coding::kPlain},
                                         {"gzip ; q=0.000", Coding::kPlain},
                                         {"gzip;q=0.001", Coding::kGzip},
                                         {"gzip;q=0.5, identity", Coding::kPlain},
                                         {"gzip;q=0.5, identity;q=0.5", Coding::kGzip},
                                         {"identity", Coding::kPlain},
                                         {"identity;q=0, gzip", Coding::kGzip},
                                         {"identity;q=0", std::nullopt},
                                         {"identity;q=0, *", Coding::kGzip},
                                         {"*", Coding::kGzip},
                                         {"*;q=0", std::nullopt},
                                         {"*;q=0, identity", Coding::kPlain},
                                         {"*;q=0, gzip", Coding::kGzip},
                                         {"gzip;q=0, *;q=1", Coding::kPlain},
                                         {"br", Coding::kPlain},
                                         {"gzip;q=2", Coding::kPlain},
                                         {"gzip;q=-1", Coding::kPlain},
                                         {"gzip;q=0.5x", Coding::kPlain},
                                         {"gzip;level=9", Coding::kPlain},
                                         {"gzipped", Coding::kPlain},
                                         {",,,", Coding::kPlain},
                                         {"gzip;q=0.3333", Coding::kPlain},
                                         {"gzip;Q=0.5", Coding::kGzip}}) {
        CHECK_MESSAGE(choose_coding(header) == coding, header);
    }
}

TEST_CASE("serve.head: a head tells the tag and the coding and forbids shared caches") {
    const auto gzip = make_heads({"\"1-5-1-gzip\"", "application/json", 784111777, Coding::kGzip, 42});
    CHECK(gzip.ok.starts_with("HTTP/1.1 200 OK\r\n"));
    for (const auto* line :
         {"ETag: \"1-5-1-gzip\"\r\n", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Vary: Accept-Encoding\r\n",
          "Cache-Control: private, no-cache\r\n", "Content-Encoding: gzip\r\n", "Content-Length: 42\r\n",
          "Content-Type: application/json\r\n"}) {
        CHECK_MESSAGE(is_known_text(gzip.ok, line), line);
    }
    CHECK(gzip.not_modified.starts_with("HTTP/1.1 304 Not Modified\r\n"));
    CHECK(is_known_text(gzip.not_modified, "ETag: \"1-5-1-gzip\"\r\n"));
    CHECK_FALSE(is_known_text(gzip.not_modified, "Content-"));
    const auto plain = make_heads({"\"1-5-1\"", "text/csv", std::nullopt, Coding::kPlain, 7});
    CHECK_FALSE(is_known_text(plain.ok, "Content-Encoding"));
    CHECK_FALSE(is_known_text(plain.ok, "Last-Modified"));
}

TEST_CASE("serve.head: a content type that would end its line is not sent") {
    const auto heads = make_heads({"\"1-5-1\"", "text/csv\r\nSet-Cookie: a=b", std::nullopt, Coding::kPlain, 7});
    CHECK_FALSE(is_known_text(heads.ok, "Set-Cookie"));
    CHECK(is_known_text(heads.ok, "Content-Type: application/octet-stream\r\n"));
}

TEST_CASE("serve.head: every other answer has a body of the length that it says") {
    for (const auto status :
         {PlainStatus::kBadRequest, PlainStatus::kUnauthorized, PlainStatus::kNotFound, PlainStatus::kMethodNotAllowed,
          PlainStatus::kNotAcceptable, PlainStatus::kRequestTimeout, PlainStatus::kGone, PlainStatus::kUriTooLong,
          PlainStatus::kHeadersTooLarge, PlainStatus::kInternalError, PlainStatus::kUnavailable,
          PlainStatus::kVersionNotSupported}) {
        const auto& answer = plain_answer(status);
        CHECK(answer.head.starts_with("HTTP/1.1 " + std::to_string(static_cast<int>(status)) + " "));
        CHECK(is_known_text(answer.head, "Content-Length: " + std::to_string(answer.body.size()) + "\r\n"));
        CHECK(answer.head.ends_with("\r\n"));
        CHECK_FALSE(is_known_text(answer.head, "\r\n\r\n"));
    }
    CHECK(is_known_text(plain_answer(PlainStatus::kMethodNotAllowed).head, "Allow: GET, HEAD\r\n"));
    CHECK(is_known_text(plain_answer(PlainStatus::kUnauthorized).head, "WWW-Authenticate: Bearer\r\n"));
    CHECK(is_known_text(plain_answer(PlainStatus::kUnavailable).head, "Retry-After: "));
}
