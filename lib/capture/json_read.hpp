#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

// RapidJSON's own checks throw nothing here: a wrong access would be a bug of ours and stops the program.
#include <rapidjson/document.h>

namespace ftlfeed::capture {

/// A value that cannot be read without loss: its row goes to quarantine. Names the key.
class UnreadableValue : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A member, or nullptr when the object lacks it or has null there.
[[nodiscard]] const rapidjson::Value* find_member(const rapidjson::Value& object, const char* key);

/// A whole number: also as a text of digits or as a double, where nothing is lost by it; "" and null are none (B39).
/// Throws UnreadableValue for everything else, and outside of the given bounds.
[[nodiscard]] std::optional<std::int64_t> read_integer(const rapidjson::Value& object, const char* key,
                                                       std::int64_t min = INT64_MIN, std::int64_t max = INT64_MAX);
[[nodiscard]] std::optional<std::int32_t> read_int32(const rapidjson::Value& object, const char* key);

/// A text without blanks at its ends (B47), nothing else changed; null is none. Throws UnreadableValue for what is no
/// text, holds U+0000, or is not UTF-8.
[[nodiscard]] std::optional<std::string> read_text(const rapidjson::Value& object, const char* key);
[[nodiscard]] std::optional<bool> read_bool(const rapidjson::Value& object, const char* key);

/// Some text below the value, a key or a string, holds U+0000, which no Postgres text or jsonb can.
[[nodiscard]] bool holds_nul(const rapidjson::Value& value);

}  // namespace ftlfeed::capture
