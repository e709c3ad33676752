#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ftlfeed/capture/snapshot.hpp>

namespace ftlfeed::capture {

/// Event types of the provider that mean something to us. Other ids are kept as they come.
enum EventType : std::int32_t {
    kVar = 10,
    kGoal = 14,
    kOwnGoal = 15,
    kPenalty = 16,  ///< Scored.
    kMissedPenalty = 17,
    kSubstitution = 18,
    kYellowCard = 19,
    kRedCard = 20,
    kYellowRedCard = 21,
    kShootoutMiss = 22,
    kShootoutGoal = 23,
};
/// Source: docs.sportmonks.com/football/definitions/types/events.
[[nodiscard]] std::string event_type_name(std::int32_t type_id);
/// Moves the score of the match: goal, own goal, penalty. A kick of a shoot-out does not (B17).
[[nodiscard]] bool is_score_goal(std::int32_t type_id);

/// As it stands in our tables: `under_review`, `takes_back`, `confirms`; empty for kNone.
[[nodiscard]] std::string verdict_name(VarVerdict verdict);
/// The reverse; kNone for whatever else it is.
[[nodiscard]] VarVerdict parse_verdict(std::string_view name);

/// What a state means to us. `is_known` false: kept raw, treated as not terminal, warned about (B55).
struct StateMeaning {
    bool is_known = false;
    bool is_terminal = false;
    bool has_started = false;
    std::string_view developer_name;
};
/// By id, and by developer name when the id is unknown. Never by the short name: "PEN" is two states (B41).
/// Source: docs.sportmonks.com/football/definitions/states.
[[nodiscard]] StateMeaning state_meaning(std::int32_t state_id, std::string_view developer_name);

/// May an event that is first seen now be bumped? Not when the fixture was over before and the answer does not say that
/// the match went on: full time shows briefly before extra time, so a move to a state that is not terminal, or from full
/// time to one that follows extra time, proves that it was not over. Pure.
[[nodiscard]] bool is_open_for_bumps(bool was_over, std::int32_t was_state_id, bool is_terminal, std::int32_t state_id);

}  // namespace ftlfeed::capture
