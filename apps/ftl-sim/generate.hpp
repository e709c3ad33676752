#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ftlfeed::sim {

struct GenerateSettings {
    std::uint64_t seed = 1;
    std::size_t teams = 32;                ///< A power of two from 8 to 128: groups of four, two of each go on.
    std::optional<std::size_t> matches{};  ///< Fewer: the first so many. More: the groups play more rounds.
    std::optional<std::size_t> events{};   ///< Exactly so many: cards and substitutions fill up or are left out.
};

/// A made-up tournament in openfootball's form, extended by cards, substitutions, missed penalties and shoot-outs.
/// The same settings give the same bytes on every machine. Throws UsageError.
[[nodiscard]] std::string generate_tournament(const GenerateSettings& settings);

}  // namespace ftlfeed::sim
