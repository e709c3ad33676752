#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ftlfeed::sim {

/// Takes the part before the first of `separators` off the front of `text`, and the separator with it.
inline std::string_view take_until(std::string_view& text, std::string_view separators) {
    const auto end = text.find_first_of(separators);
    const auto part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return part;
}

/// A whole number with nothing around it.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace ftlfeed::sim
