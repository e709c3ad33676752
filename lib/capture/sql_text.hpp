#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ftlfeed::capture {

/// A bigint array as a statement's parameter: `{1,2}`.
[[nodiscard]] inline std::string bigint_array(const std::vector<std::int64_t>& values) {
    std::string text = "{";
    for (const auto value : values) text += (text.size() > 1 ? "," : "") + std::to_string(value);
    return text + "}";
}

}  // namespace ftlfeed::capture
