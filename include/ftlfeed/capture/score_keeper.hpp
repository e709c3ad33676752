#pragma once

#include <cstdint>
#include <map>

#include <ftlfeed/capture/snapshot.hpp>

namespace ftlfeed::capture {

/// The side that an event belongs to, by event id. For a goal it is the side whose score grew.
using TeamSides = std::map<std::int64_t, Side>;

/// Decides the side of each event. Goals and all else follow their participant. For an own goal the provider does not say
/// which team the participant is, and both spellings occur: there the running result decides, else what the score lacks
/// when all other goals are counted, else what is `known` from an earlier answer, else nothing (no entry) until the
/// score tells. The participant never decides an own goal (B15). Kicks of a shoot-out count for no score (B17). Pure.
[[nodiscard]] TeamSides decide_sides(const FixtureSnapshot& fixture, const TeamSides& known);

}  // namespace ftlfeed::capture
