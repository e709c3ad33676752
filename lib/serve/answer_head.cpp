#include <ftlfeed/serve/answer_head.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/serve/conditional.hpp>

namespace ftlfeed::serve {
namespace {

struct StatusText {
    const char* reason;
    const char* error;
    const char* fields;
};

/// A content type comes from a definition, written by a person: it must not end its line.
std::string_view safe_type(std::string_view type) {
    const bool is_safe =
        !type.empty() && std::all_of(type.begin(), type.end(), [](char c) { return c >= 32 && c < 127; });
    return is_safe ? type : "application/octet-stream";
}

std::string validators(const HeadFacts& facts) {
    auto text = fmt::format("ETag: {}\r\n", facts.etag);
    if (facts.last_modified) text += fmt::format("Last-Modified: {}\r\n", http_date(*facts.last_modified));
    // A cache of the client's may keep the bytes and must ask each time; one that is shared must not keep them, since
    // what opens them is a key. Both codings have the same URL.
    return text + "Cache-Control: private, no-cache\r\nVary: Accept-Encoding\r\n";
}

const std::map<PlainStatus, StatusText>& texts() {
    static const std::map<PlainStatus, StatusText> kTexts{
        {PlainStatus::kBadRequest, {"Bad Request", "malformed request", ""}},
        {PlainStatus::kUnauthorized, {"Unauthorized", "a valid key is needed", "WWW-Authenticate: Bearer\r\n"}},
        {PlainStatus::kNotFound, {"Not Found", "no such file", ""}},
        {PlainStatus::kMethodNotAllowed, {"Method Not Allowed", "only GET and HEAD", "Allow: GET, HEAD\r\n"}},
        {PlainStatus::kNotAcceptable, {"Not Acceptable", "there are gzip and identity", "Vary: Accept-Encoding\r\n"}},
        {PlainStatus::kRequestTimeout, {"Request Timeout", "the request took too long", ""}},
        {PlainStatus::kGone, {"Gone", "this file has ended", ""}},
        {PlainStatus::kUriTooLong, {"URI Too Long", "the address is too long", ""}},
        {PlainStatus::kHeadersTooLarge, {"Request Header Fields Too Large", "the headers are too large", ""}},
        {PlainStatus::kInternalError, {"Internal Server Error", "internal error", ""}},
        {PlainStatus::kUnavailable, {"Service Unavailable", "try again", "Retry-After: 1\r\n"}},
        {PlainStatus::kVersionNotSupported, {"HTTP Version Not Supported", "HTTP/1.1 is spoken here", ""}},
    };
    return kTexts;
}

PlainAnswer make_plain(PlainStatus status, const StatusText& text) {
    PlainAnswer answer;
    answer.body = fmt::format("{{\"error\":\"{}\"}}\n", text.error);
    answer.head = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n{}Content-Length: {}\r\n",
        static_cast<int>(status), text.reason, text.fields, answer.body.size());
    return answer;
}

}  // namespace

AnswerHeads make_heads(const HeadFacts& facts) {
    FTL_ASSERT(facts.etag.size() > 2 && facts.etag.front() == '"' && facts.etag.back() == '"');
    AnswerHeads heads;
    heads.etag = facts.etag;
    const auto shared = validators(facts);
    heads.ok =
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n{}{}Content-Length: {}\r\n", safe_type(facts.content_type),
                    shared, facts.coding == Coding::kGzip ? "Content-Encoding: gzip\r\n" : "", facts.body_bytes);
    heads.not_modified = "HTTP/1.1 304 Not Modified\r\n" + shared;
    return heads;
}

const PlainAnswer& plain_answer(PlainStatus status) {
    static const auto kAnswers = [] {
        std::map<PlainStatus, PlainAnswer> answers;
        for (const auto& [one, text] : texts()) answers.emplace(one, make_plain(one, text));
        return answers;
    }();
    return kAnswers.at(status);
}

}  // namespace ftlfeed::serve
