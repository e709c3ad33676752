#pragma once

#include <string>
#include <vector>

#include "names.hpp"
#include "pitch.hpp"

namespace ftlfeed::sim {

/// The games as a data file: openfootball's keys in its order, ours after them. docs/sim.md has every field.
[[nodiscard]] std::string data_file(const std::string& name, const std::vector<Squad>& squads,
                                    const std::vector<Game>& games);

}  // namespace ftlfeed::sim
