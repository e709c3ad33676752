#pragma once

#include <string_view>
#include <vector>

namespace ftlfeed::capture {

/// The bytes of the fixtures of an answer and of each one's events, in the order of the answer. They point into the text.
/// `text` must be valid JSON. A parser's tree cannot give them back: it loses long numbers, and the order of keys.
struct FixtureBytes {
    std::string_view fixture;
    std::vector<std::string_view> events;
};
[[nodiscard]] std::vector<FixtureBytes> slice_answer(std::string_view text);

}  // namespace ftlfeed::capture
