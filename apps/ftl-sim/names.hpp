#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ftlfeed::sim {

/// Made-up squads in several scripts: what is hard about names is in them (diacritics, apostrophes, quotes, letters of
/// three bytes, right-to-left text).
struct Squad {
    std::string team;
    std::vector<std::string> players;
};

/// The squad of the n-th team. Names of one squad differ from each other.
[[nodiscard]] Squad squad_of(std::size_t team);

}  // namespace ftlfeed::sim
