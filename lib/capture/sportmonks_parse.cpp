#include "capture/sportmonks_parse.hpp"

#include <rapidjson/error/en.h>

#include <charconv>
#include <string_view>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

#include "capture/json_read.hpp"
#include "capture/json_text.hpp"
#include "capture/sportmonks_fixture.hpp"

namespace ftlfeed::capture {
namespace {

constexpr std::size_t kMessageBytesMax = 200;
// Iterative: a body of a million brackets must not overrun the stack. Full precision: 45.0 is 45 and nothing else.
// Encoding is checked text by text, so that one bad name does not cost the whole answer.
constexpr unsigned kParseFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;

rapidjson::Document parse_json(const std::string& body) {
    rapidjson::Document document;
    document.Parse<kParseFlags>(body.data(), body.size());
    if (document.HasParseError()) {
        throw core::Failure::unavailable(
            "read the provider's answer: no JSON at byte " + std::to_string(document.GetErrorOffset()) + " of " +
            std::to_string(body.size()) + ": " + rapidjson::GetParseError_En(document.GetParseError()));
    }
    if (!document.IsObject()) throw core::Failure::unavailable("read the provider's answer: JSON, but no object");
    return document;
}

/// `next_page` was seen as a number, as a text of digits, and as a URL without the token.
std::optional<std::int64_t> page_number(const rapidjson::Value& pagination) {
    const auto* next = find_member(pagination, "next_page");
    if (!next || !next->IsString()) return read_integer(pagination, "next_page");
    std::string_view text(next->GetString(), next->GetStringLength());
    for (const std::string_view mark : {"?page=", "&page="}) {
        const auto at = text.find(mark);
        if (at != std::string_view::npos) {
            text.remove_prefix(at + mark.size());
            break;
        }
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = end == text.data() + text.size() || *end == '&';
    return error == std::errc{} && is_whole ? std::optional(number) : std::nullopt;
}

/// The envelope's members are hints to us: one that cannot be read counts as missing.
template <typename Read>
auto if_readable(Read&& read) -> decltype(read()) {
    try {
        return read();
    } catch (const UnreadableValue&) {
        return {};
    }
}

void read_envelope(const rapidjson::Value& document, SportmonksAnswer& answer) {
    if (const auto* pagination = find_member(document, "pagination")) {
        answer.has_more = if_readable([&] { return read_bool(*pagination, "has_more"); }).value_or(false);
        answer.next_page = if_readable([&] { return page_number(*pagination); });
    }
    if (const auto* limit = find_member(document, "rate_limit")) {
        const auto seconds = if_readable([&] { return read_integer(*limit, "resets_in_seconds", 0, 86'400); });
        if (seconds) answer.limit_resets_in = std::chrono::seconds(*seconds);
    }
    const auto* subscription = find_member(document, "subscription");
    if (subscription && subscription->IsArray() && !subscription->Empty()) {
        // `meta` is an empty array on the free plan, an object on others.
        const auto* meta = find_member((*subscription)[0], "meta");
        const auto now =
            meta ? if_readable([&] { return read_integer(*meta, "current_timestamp", 0, INT32_MAX); }) : std::nullopt;
        if (now) answer.provider_time = std::chrono::sys_seconds(std::chrono::seconds(*now));
    }
    answer.error_code = if_readable([&] { return read_integer(document, "code"); });
    answer.message =
        core::shorten(if_readable([&] { return read_text(document, "message"); }).value_or(""), kMessageBytesMax);
}

void read_fixtures(const rapidjson::Value& data, const std::string& body, bool is_utc, SportmonksAnswer& answer) {
    const auto bytes = slice_answer(body);
    const auto count = data.IsArray() ? data.Size() : 1U;
    // Only a key written with escapes makes the two differ; nobody writes `data` so.
    if (bytes.size() != count) throw core::Failure::unavailable("read the provider's answer: its keys are escaped");
    for (rapidjson::SizeType place = 0; place < count; ++place) {
        const auto& value = data.IsArray() ? data[place] : data;
        auto read = read_fixture(value, bytes[place], is_utc);
        if (auto* fixture = std::get_if<FixtureSnapshot>(&read)) {
            answer.fixtures.push_back(std::move(*fixture));
        } else {
            answer.rejected.push_back(std::move(std::get<RejectedFixture>(read)));
        }
    }
}

}  // namespace

SportmonksAnswer parse_answer(const std::string& body) {
    const auto document = parse_json(body);
    SportmonksAnswer answer;
    read_envelope(document, answer);
    const auto* data = find_member(document, "data");
    if (!data) return answer;
    if (!data->IsArray() && !data->IsObject()) {
        throw core::Failure::unavailable("read the provider's answer: \"data\" is neither an object nor a list");
    }
    // An unknown id may be answered by an object in which everything is null (B37).
    if (data->IsObject() && !find_member(*data, "id")) return answer;
    answer.has_data = true;
    const auto zone = if_readable([&] { return read_text(document, "timezone"); }).value_or("UTC");
    read_fixtures(*data, body, zone == "UTC", answer);
    return answer;
}

}  // namespace ftlfeed::capture
