#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::store {

/// A text as a statement's parameter. libpqxx 6 sends C strings and would cut at a NUL without an error; this refuses
/// it. Throws core::InvalidInput ("text holds a NUL at byte N"). Every text from outside goes through here.
[[nodiscard]] const std::string& checked(const std::string& text);
[[nodiscard]] std::string checked(std::string_view text);

/// A bytea value as parameter text (`\x…`), and back from a result's text.
[[nodiscard]] std::string bytea(std::string_view bytes);
[[nodiscard]] std::string bytea(const std::vector<std::uint8_t>& bytes);
[[nodiscard]] std::string from_bytea(std::string_view text);

/// A text array as parameter text (`{"a","b"}`), and back. Elements are never NULL.
[[nodiscard]] std::string text_array(const std::vector<std::string>& values);
[[nodiscard]] std::vector<std::string> from_text_array(std::string_view text);

/// Stamps travel as whole microseconds since 1970, which is what Postgres keeps: as SQL of a timestamptz, and both ways.
[[nodiscard]] std::string micros_sql(const std::string& expression);
[[nodiscard]] core::SystemTime from_micros(std::int64_t micros);
[[nodiscard]] std::int64_t to_micros(core::SystemTime time);

}  // namespace ftlfeed::store
