#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cache/command.hpp"
#include "cache/reply_parser.hpp"
#include "support/rng.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::Reply;
using cache::ReplyParser;

namespace {

std::string some_bytes(Rng& rng, std::int64_t most) {
    std::string text(static_cast<std::size_t>(rng.between(0, most)), '\0');
    for (auto& c : text) c = static_cast<char>(rng.between(0, 255));
    return text;
}

std::string some_line(Rng& rng) {
    auto text = some_bytes(rng, 40);
    std::erase_if(text, [](char c) { return c == '\r' || c == '\n'; });
    return text;
}

Reply some_reply(Rng& rng, int depth) {
    using Kind = Reply::Kind;
    switch (rng.between(0, depth < 4 ? 5 : 4)) {
        case 0:
            return {};
        case 1:
            return {Kind::kInteger, rng.between(INT64_MIN, INT64_MAX), "", {}};
        case 2:
            return {Kind::kStatus, 0, some_line(rng), {}};
        case 3:
            return {Kind::kText, 0, some_bytes(rng, rng.chance(0.1) ? 5000 : 30), {}};
        case 4:
            return {Kind::kError, 0, some_line(rng), {}};
        default: {
            Reply reply{Kind::kArray, 0, "", {}};
            for (auto left = rng.between(0, 4); left > 0; --left) reply.elements.push_back(some_reply(rng, depth + 1));
            return reply;
        }
    }
}

/// RESP2 (redis.io, "Redis serialization protocol specification").
std::string encoded(const Reply& reply) {
    using Kind = Reply::Kind;
    switch (reply.kind) {
        case Kind::kNil:
            return "$-1\r\n";
        case Kind::kInteger:
            return ":" + std::to_string(reply.integer) + "\r\n";
        case Kind::kStatus:
            return "+" + reply.text + "\r\n";
        case Kind::kText:
            return "$" + std::to_string(reply.text.size()) + "\r\n" + reply.text + "\r\n";
        case Kind::kError:
            return "-" + reply.text + "\r\n";
        case Kind::kArray:
            break;
    }
    auto text = "*" + std::to_string(reply.elements.size()) + "\r\n";
    for (const auto& element : reply.elements) text += encoded(element);
    return text;
}

std::vector<Reply> drained(ReplyParser& parser) {
    std::vector<Reply> replies;
    while (auto reply = parser.next()) replies.push_back(std::move(*reply));
    return replies;
}

void append(std::vector<Reply>& all, std::vector<Reply> more) {
    for (auto& one : more) all.push_back(std::move(one));
}

}  // namespace

TEST_CASE("cache.reply_parser: replies cut anywhere come out whole and as they were") {
    FTL_RNG(rng);
    for (int round = 0; round < rounds(300, 20'000); ++round) {
        ReplyParser parser({});
        std::vector<Reply> sent;
        std::string bytes;
        for (int i = 0; i < 20; ++i) bytes += encoded(sent.emplace_back(some_reply(rng, 0)));
        std::vector<Reply> got;
        for (std::size_t at = 0; at < bytes.size();) {
            const auto piece = static_cast<std::size_t>(rng.between(1, rng.chance(0.5) ? 3 : 3000));
            parser.feed(std::string_view(bytes).substr(at, piece));
            at += piece;
            append(got, drained(parser));
        }
        REQUIRE(got == sent);
    }
}

TEST_CASE("cache.reply_parser: a reply that lacks its last byte is none") {
    FTL_RNG(rng);
    for (int round = 0; round < rounds(300, 20'000); ++round) {
        const auto reply = some_reply(rng, 0);
        const auto bytes = encoded(reply);
        ReplyParser parser({});
        parser.feed(std::string_view(bytes).substr(0, bytes.size() - 1));
        REQUIRE_FALSE(parser.next());
        parser.feed(std::string_view(bytes).substr(bytes.size() - 1));
        REQUIRE(parser.next() == reply);
    }
}

TEST_CASE("cache.reply_parser: garbage never crashes it and after its first failure nothing comes any more") {
    FTL_RNG(rng);
    for (int round = 0; round < rounds(3'000, 200'000); ++round) {
        ReplyParser parser({.bytes_max = 2'000, .elements_max = 50, .depth_max = 3});
        auto bytes = encoded(some_reply(rng, 0)) + encoded(some_reply(rng, 0));
        for (auto damage = rng.between(1, 4); damage > 0; --damage) {
            const auto at = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(bytes.size()) - 1));
            bytes[at] =
                rng.chance(0.5) ? "*$:+-\r\n0123456789"[rng.between(0, 16)] : static_cast<char>(rng.between(0, 255));
        }
        bool has_failed = false;
        for (std::size_t at = 0; at < bytes.size(); at += 7) {
            parser.feed(std::string_view(bytes).substr(at, 7));
            try {
                static_cast<void>(drained(parser));
                REQUIRE_FALSE(has_failed);
            } catch (const core::Failure& failure) {
                has_failed = true;
                REQUIRE(failure.connection_lost());
            }
        }
    }
}

TEST_CASE("cache.reply_parser: a reply beyond a limit is refused and one at it is not") {
    const auto is_refused = [](ReplyParser::Limits limits, const std::string& bytes) {
        ReplyParser parser(limits);
        try {
            for (const char c : bytes) {
                parser.feed(std::string_view(&c, 1));
                static_cast<void>(parser.next());
            }
            return false;
        } catch (const core::Failure&) {
            return true;
        }
    };
    CHECK_FALSE(is_refused({.bytes_max = 15}, "$8\r\n12345678\r\n$8\r\n12345678\r\n"));
    CHECK(is_refused({.bytes_max = 12}, "$8\r\n12345678\r\n"));
    CHECK_FALSE(is_refused({.elements_max = 3}, "*2\r\n:1\r\n:2\r\n*2\r\n:1\r\n:2\r\n"));
    CHECK(is_refused({.elements_max = 2}, "*2\r\n:1\r\n:2\r\n"));
    CHECK_FALSE(is_refused({.depth_max = 2}, "*1\r\n*1\r\n:1\r\n"));
    CHECK(is_refused({.depth_max = 1}, "*1\r\n*1\r\n:1\r\n"));
    // A count that nobody could hold is no reason to reserve it.
    CHECK_FALSE(is_refused({}, "*2000000000\r\n"));
    CHECK(is_refused({}, "*99999999999999999999\r\n"));
    CHECK(is_refused({}, "HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("cache.command: Redis's own reader finds the words that went in whatever their bytes") {
    FTL_RNG(rng);
    for (int round = 0; round < rounds(300, 20'000); ++round) {
        std::vector<std::string> words{"SET"};
        for (auto left = rng.between(0, 6); left > 0; --left) words.push_back(some_bytes(rng, 200));
        const std::vector<std::string_view> views(words.begin(), words.end());
        ReplyParser parser({});
        parser.feed(cache::Command::changing(views).bytes());
        const auto read = parser.next();
        REQUIRE(read);
        REQUIRE(read->elements.size() == words.size());
        for (std::size_t i = 0; i < words.size(); ++i) REQUIRE(read->elements[i].text == words[i]);
    }
}
