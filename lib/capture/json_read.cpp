#include "capture/json_read.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include <ftlfeed/core/text.hpp>

namespace ftlfeed::capture {
namespace {

constexpr double kExactMax = 9007199254740992.0;  // 2^53: above it a double is no longer one whole number.
constexpr int kDepthMax = 64;

[[noreturn]] void refuse(const char* key, const char* why) {
    throw UnreadableValue(std::string("\"") + key + "\" " + why);
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n\f\v";
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view text_of(const rapidjson::Value& value) { return {value.GetString(), value.GetStringLength()}; }

std::optional<std::int64_t> exact(double number) {
    if (!(std::fabs(number) <= kExactMax) || std::trunc(number) != number) return std::nullopt;
    return static_cast<std::int64_t>(number);
}

/// "18535517", "-3", "45.0".
std::optional<std::int64_t> whole_number(std::string_view text) {
    const auto point = text.find('.');
    if (point != std::string_view::npos) {
        const auto fraction = text.substr(point + 1);
        if (fraction.empty() || fraction.find_first_not_of('0') != std::string_view::npos) return std::nullopt;
        text = text.substr(0, point);
    }
    std::int64_t number = 0;
    const auto* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stopped != end) return std::nullopt;
    return number;
}

bool holds_nul(const rapidjson::Value& value, int depth) {
    if (value.IsString()) return text_of(value).find('\0') != std::string_view::npos;
    // Deeper than anything that the provider sends: refused as if it held one, rather than overrun the stack.
    if (depth > kDepthMax) return true;
    if (value.IsArray()) {
        for (const auto& element : value.GetArray()) {
            if (holds_nul(element, depth + 1)) return true;
        }
    }
    if (value.IsObject()) {
        for (const auto& member : value.GetObject()) {
            if (holds_nul(member.name, depth + 1) || holds_nul(member.value, depth + 1)) return true;
        }
    }
    return false;
}

}  // namespace

const rapidjson::Value* find_member(const rapidjson::Value& object, const char* key) {
    if (!object.IsObject()) return nullptr;
    const auto found = object.FindMember(key);
    return found == object.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
}

std::optional<std::int64_t> read_integer(const rapidjson::Value& object, const char* key, std::int64_t min,
                                         std::int64_t max) {
    const auto* value = find_member(object, key);
    if (!value) return std::nullopt;
    std::optional<std::int64_t> number;
    if (value->IsInt64()) {
        number = value->GetInt64();
    } else if (value->IsDouble()) {
        number = exact(value->GetDouble());
    } else if (value->IsString()) {
        const auto text = trimmed(text_of(*value));
        if (text.empty()) return std::nullopt;
        number = whole_number(text);
    }
    if (!number) refuse(key, "is no whole number");
    if (*number < min || *number > max) refuse(key, "is out of range");
    return number;
}

std::optional<std::int32_t> read_int32(const rapidjson::Value& object, const char* key) {
    using Limits = std::numeric_limits<std::int32_t>;
    const auto number = read_integer(object, key, Limits::min(), Limits::max());
    return number ? std::optional(static_cast<std::int32_t>(*number)) : std::nullopt;
}

std::optional<std::string> read_text(const rapidjson::Value& object, const char* key) {
    const auto* value = find_member(object, key);
    if (!value) return std::nullopt;
    if (!value->IsString()) refuse(key, "is no text");
    const auto text = text_of(*value);
    if (text.find('\0') != std::string_view::npos) refuse(key, "holds U+0000");
    if (!core::is_utf8(text)) refuse(key, "is not UTF-8");
    return std::string(trimmed(text));
}

std::optional<bool> read_bool(const rapidjson::Value& object, const char* key) {
    const auto* value = find_member(object, key);
    if (!value) return std::nullopt;
    if (value->IsBool()) return value->GetBool();
    if (value->IsInt() && (value->GetInt() == 0 || value->GetInt() == 1)) return value->GetInt() == 1;
    refuse(key, "is no boolean");
}

bool holds_nul(const rapidjson::Value& value) { return holds_nul(value, 0); }

}  // namespace ftlfeed::capture
