#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace ftlfeed::sim {

/// What the fault scripts of proxy and webhook have in common: rules, parted by `;` or lines, with `#` before a remark; a
/// rule is `SELECTOR: WORD WORD`, and what it selects is counted from 1. All views are into the script.

/// Every rule of a script, trimmed; none is empty.
[[nodiscard]] std::vector<std::string_view> rules_in(std::string_view script);

/// A rule in its two parts.
struct FaultRule {
    std::string_view whole;
    std::string_view selector;  ///< Trimmed.
    std::string_view words;
};
/// `counted` is what is selected, for the message: "connection". Throws UsageError.
[[nodiscard]] FaultRule split_rule(std::string_view rule, std::string_view counted);
/// Throws UsageError when there is none.
[[nodiscard]] std::vector<std::string_view> words_of(const FaultRule& rule);

/// From `first` to `last`, both among them.
struct Numbers {
    std::uint64_t first = 1;
    std::uint64_t last = UINT64_MAX;
    [[nodiscard]] bool hold(std::uint64_t number) const { return number >= first && number <= last; }
};
/// Reads `*`, `3`, `2-5` or `4-`. Throws UsageError.
[[nodiscard]] Numbers parse_numbers(std::string_view text, std::string_view counted);

/// A whole number, nothing around it; `word` is shown in the message. Throws UsageError.
[[nodiscard]] std::uint64_t parse_number(std::string_view text, std::string_view word);
/// The error of a script: it names the word and says why.
[[nodiscard]] UsageError wrong_word(std::string_view word, std::string_view why);

}  // namespace ftlfeed::sim
