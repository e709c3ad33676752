#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::core {

/// `2026-06-11T19:00:00.123Z`.
[[nodiscard]] std::string iso_time(SystemTime time);
/// Cuts to `bytes_max` bytes at a character's border and says how much was cut. For text from outside.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t bytes_max);
/// Valid UTF-8 (RFC 3629: no surrogates, no over-long forms)?
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// `text` as a JSON string with its quotes; what is not UTF-8 becomes U+FFFD.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace ftlfeed::core
