// Requests that two readers could understand differently, and those that are none.

#include "ftl-serve/request_head.hpp"

#include <doctest/doctest.h>

#include <ftlfeed/core/text.hpp>

#include "support/rng.hpp"

using namespace ftlfeed;
using namespace ftlfeed::app;
using namespace std::string_literals;
using serve::PlainStatus;

namespace {

HeadResult read(const std::string& input) {
    RequestHead head;
    return read_head(input, HeadLimits{}, head);
}

std::optional<PlainStatus> refusal(const std::string& input) {
    const auto result = read(input);
    REQUIRE_MESSAGE((result.refusal || result.bytes > 0), core::json_quoted(input));
    return result.refusal;
}

std::string with(const std::string& lines) { return "GET /feeds/wc/calendar HTTP/1.1\r\n" + lines + "\r\n"; }

}  // namespace

TEST_CASE("serve.request: what matters of a request is read and nothing is copied") {
    const auto input = with(
        "host: a\r\nauthorization:  Bearer k1 \r\nX-API-KEY: k2\r\nIf-None-Match: \"a\"\r\nif-modified-since: x\r\n"
        "Accept-Encoding: gzip\r\nUser-Agent: y\r\n");
    RequestHead head;
    const auto more = input + "GET /next";
    const auto result = read_head(more, HeadLimits{}, head);
    CHECK(result.bytes == input.size());
    CHECK_FALSE(result.refusal);
    CHECK(head.method == RequestHead::Method::kGet);
    CHECK(head.target == "/feeds/wc/calendar");
    CHECK(head.key.authorization == "Bearer k1");
    CHECK(head.key.x_api_key == "k2");
    CHECK(head.conditions.if_none_match == "\"a\"");
    CHECK(head.conditions.if_modified_since == "x");
    CHECK(head.accept_encoding == "gzip");
    CHECK(head.is_kept_alive);
}

TEST_CASE("serve.request: several lines of a list are one list") {
    RequestHead head;
    const auto input = with(
        "Host: a\r\nIf-None-Match: \"a\"\r\nAccept-Encoding: br\r\nIf-None-Match: \"b\"\r\n"
        "If-None-Match: \"c\"\r\nAccept-Encoding: gzip\r\n");
    REQUIRE(read_head(input, HeadLimits{}, head).bytes == input.size());
    CHECK(head.conditions.if_none_match == "\"a\", \"b\", \"c\"");
    CHECK(head.accept_encoding == "br, gzip");
}

TEST_CASE("serve.request: a connection is kept unless it says otherwise or is of 1.0") {
    RequestHead head;
    CHECK(read_head(with("Host: a\r\nConnection: close\r\n"), HeadLimits{}, head).bytes > 0);
    CHECK_FALSE(head.is_kept_alive);
    CHECK(read_head("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", HeadLimits{}, head).bytes > 0);
    CHECK_FALSE(head.is_kept_alive);
    CHECK(read_head("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", HeadLimits{}, head).bytes > 0);
    CHECK(head.method == RequestHead::Method::kHead);
    CHECK(read_head("POST / HTTP/1.1\r\nHost: a\r\n\r\n", HeadLimits{}, head).bytes > 0);
    CHECK(head.method == RequestHead::Method::kOther);
    CHECK(read_head("get / HTTP/1.1\r\nHost: a\r\n\r\n", HeadLimits{}, head).bytes > 0);
    CHECK(head.method == RequestHead::Method::kOther);
}

TEST_CASE("serve.request: any body and any Transfer-Encoding is refused whatever its spelling") {
    for (const auto* lines : {"Content-Length: 1\r\n",
                              "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: chunked\r\n",
                              "Transfer-Encoding: xchunked\r\n",
                              "Transfer-Encoding: identity\r\n",
                              "Transfer-Encoding:\tchunked\r\n",
                              "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                              "transfer-encoding: \r\n",
                              "TRANSFER-ENCODING: gzip, chunked\r\n",
                              "Content-Length: +1\r\n",
                              "Content-Length: 1,1\r\n",
                              "Content-Length: 0x1\r\n",
                              "Content-Length: -1\r\n",
                              "Content-Length: \r\n",
                              "Content-Length: 0\r\nContent-Length: 5\r\n",
                              "Content-Length: 0\r\nContent-Length: 0\r\n",
                              "Content-Length: 00\r\n",
                              "Content-Length: 0, 0\r\n",
                              "Content-Length: 18446744073709551616\r\n",
                              "Transfer-Encoding : chunked\r\n",
                              "Transfer-Encoding\t: chunked\r\n",
                              "Content-Length : 0\r\n",
                              " Transfer-Encoding: chunked\r\n",
                              "X: y\r\n Transfer-Encoding: chunked\r\n",
                              "X: y\nTransfer-Encoding: chunked\r\n",
                              "X: y\rTransfer-Encoding: chunked\r\n"}) {
        CHECK_MESSAGE(refusal(with("Host: a\r\n"s + lines)) == PlainStatus::kBadRequest, core::json_quoted(lines));
    }
    CHECK_FALSE(refusal(with("Host: a\r\nContent-Length: 0\r\n")));
}

TEST_CASE("serve.request: no host and two hosts and targets that are no path are refused") {
    CHECK(refusal(with("")) == PlainStatus::kBadRequest);
    CHECK(refusal(with("Host: a\r\nHost: a\r\n")) == PlainStatus::kBadRequest);
    CHECK_FALSE(refusal("GET / HTTP/1.0\r\n\r\n"));
    CHECK(refusal("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n") == PlainStatus::kBadRequest);
    for (const auto* target : {"http://a/feeds/wc/calendar", "*", "a:443", "feeds/wc/calendar", "//", "\\feeds"}) {
        const auto input = "GET "s + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
        if (target == "//"s) {
            CHECK_FALSE(refusal(input));  // A path, though of nothing.
        } else {
            CHECK_MESSAGE(refusal(input) == PlainStatus::kBadRequest, target);
        }
    }
}

TEST_CASE("serve.request: lines that are none are refused") {
    for (const auto& input : {"GET /\r\n\r\n"s,
                              "GET / \r\n\r\n"s,
                              "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"s,
                              "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              " GET / HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "/ HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "GET / HTTP/1.1\nHost: a\n\n"s,
                              "GET / HTTP/1.1\r\nHost: a\n\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n folded\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tfolded\r\n\r\n"s,
                              "GET / HTTP/1.1\r\n Host: a\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX: a\x01"
                              "b\r\n\r\n"s,
                              "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n"s,
                              "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n"s,
                              "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"s,
                              "GET / FTP/1.1\r\nHost: a\r\n\r\n"s,
                              "GET / http/1.1\r\nHost: a\r\n\r\n"s,
                              "\x16\x03\x01\x02\r\n\r\n"s,
                              "\n"s,
                              "\0"s}) {
        CHECK_MESSAGE(refusal(input) == PlainStatus::kBadRequest, core::json_quoted(input));
    }
    CHECK_FALSE(refusal("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"));
}

TEST_CASE("serve.request: other versions of HTTP are told so") {
    for (const auto* input :
         {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/2\r\nHost: a\r\n\r\n", "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
          "GET / HTTP/0.9\r\nHost: a\r\n\r\n", "GET / HTTP/11\r\nHost: a\r\n\r\n", "GET / HTTP/3.0\r\n"}) {
        CHECK_MESSAGE(refusal(input) == PlainStatus::kVersionNotSupported, input);
    }
}

TEST_CASE("serve.request: two keys in two lines of one kind are refused") {
    CHECK(refusal(with("Host: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n")) ==
          PlainStatus::kBadRequest);
    CHECK(refusal(with("Host: a\r\nX-Api-Key: a\r\nX-Api-Key: b\r\n")) == PlainStatus::kBadRequest);
}

TEST_CASE("serve.request: heads end at their limits on both sides") {
    const std::string line = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
    const auto fits = line + std::string(8192 - line.size() - 4, 'x') + "\r\n\r\n";
    CHECK(fits.size() == 8192);
    CHECK_FALSE(refusal(fits));
    CHECK(refusal(line + std::string(8192 - line.size() - 3, 'x') + "\r\n\r\n") == PlainStatus::kHeadersTooLarge);
    CHECK(refusal(line + std::string(100'000, 'x')) == PlainStatus::kHeadersTooLarge);
    CHECK(refusal("GET /" + std::string(100'000, 'a')) == PlainStatus::kUriTooLong);
    CHECK(refusal("GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n") == PlainStatus::kUriTooLong);
    std::string fields = "Host: a\r\n";
    for (int i = 0; i < 63; ++i) fields += "X: y\r\n";
    CHECK_FALSE(refusal(with(fields)));
    CHECK(refusal(with(fields + "X: y\r\n")) == PlainStatus::kHeadersTooLarge);
}

TEST_CASE("serve.request: a head is not there before its last byte wherever it is cut") {
    const auto input = with("Host: a\r\nAuthorization: Bearer k1\r\nIf-None-Match: \"a\"\r\n");
    for (std::size_t cut = 0; cut < input.size(); ++cut) {
        const auto result = read(input.substr(0, cut));
        CHECK(result.bytes == 0);
        CHECK_FALSE(result.refusal);
    }
    CHECK(read(input).bytes == input.size());
}

TEST_CASE("serve.request: whatever bytes come they are refused or read and never more than there are") {
    FTL_RNG(rng);
    const auto whole = with("Host: a\r\nAuthorization: Bearer k1\r\nIf-None-Match: \"a\"\r\nConnection: close\r\n");
    for (int i = 0; i < ftl::test::rounds(100'000, 3'000'000); ++i) {
        auto input = whole;
        const auto changes = rng.between(1, 4);
        for (std::int64_t at = 0; at < changes; ++at) {
            const auto place = static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(input.size()) - 1));
            if (rng.chance(0.3)) {
                input.erase(place, static_cast<std::size_t>(rng.between(1, 3)));
            } else {
                constexpr char kLikely[] = "\r\n\0 \t:,/?\"H0";
                input[place] = rng.chance(0.6) ? kLikely[rng.between(0, 11)] : static_cast<char>(rng.between(0, 255));
            }
        }
        RequestHead head;
        const auto result = read_head(input, HeadLimits{}, head);
        CHECK(result.bytes <= input.size());
        if (result.bytes > 0) CHECK(head.target.starts_with('/'));
    }
}
