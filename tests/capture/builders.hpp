#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/capture/snapshot.hpp>
#include <ftlfeed/capture/vocabulary.hpp>

namespace ftl::test {

constexpr std::int64_t kSeason = 77;
constexpr std::int64_t kHomeTeam = 10;
constexpr std::int64_t kAwayTeam = 20;

/// Fixture 1 of season 77 between teams 10 and 20, second half, 0-0, no events.
inline ftlfeed::capture::FixtureSnapshot fixture(std::int64_t id = 1) {
    ftlfeed::capture::FixtureSnapshot snapshot;
    snapshot.id = id;
    snapshot.season_id = kSeason;
    snapshot.home = {kHomeTeam, "Homeland"};
    snapshot.away = {kAwayTeam, "Awayland"};
    snapshot.kickoff = std::chrono::sys_seconds(std::chrono::seconds(1'781'204'400));
    snapshot.state_id = 22;
    snapshot.state = "INPLAY_2ND_HALF";
    snapshot.has_started = true;
    snapshot.has_event_list = true;
    snapshot.score = ftlfeed::capture::Score{0, 0};
    return snapshot;
}

inline std::string raw_event(std::int64_t id, std::int32_t type_id, const std::string& more = "") {
    return R"({"id":)" + std::to_string(id) + R"(,"type_id":)" + std::to_string(type_id) + more + "}";
}

/// An event of a team's player; player 101 is called "Player 101".
inline ftlfeed::capture::EventSnapshot event(std::int64_t id, std::int32_t type_id, std::int64_t team,
                                             std::int64_t player, std::int32_t minute) {
    ftlfeed::capture::EventSnapshot row;
    row.id = id;
    row.type_id = type_id;
    row.minute = minute;
    row.participant_id = team;
    row.player = {player, "Player " + std::to_string(player)};
    row.raw = raw_event(id, type_id, R"(,"minute":)" + std::to_string(minute));
    return row;
}

inline ftlfeed::capture::EventSnapshot goal(std::int64_t id, std::int64_t team, std::int64_t player,
                                            std::int32_t minute) {
    return event(id, ftlfeed::capture::kGoal, team, player, minute);
}

/// Puts events in and keeps them sorted, as a parser gives them.
inline ftlfeed::capture::FixtureSnapshot with(ftlfeed::capture::FixtureSnapshot snapshot,
                                              std::vector<ftlfeed::capture::EventSnapshot> events) {
    for (auto& row : events) snapshot.events.push_back(std::move(row));
    std::sort(snapshot.events.begin(), snapshot.events.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return snapshot;
}

inline ftlfeed::capture::FixtureSnapshot at_score(ftlfeed::capture::FixtureSnapshot snapshot, int home, int away) {
    snapshot.score = ftlfeed::capture::Score{home, away};
    return snapshot;
}

inline ftlfeed::capture::FixtureSnapshot in_state(ftlfeed::capture::FixtureSnapshot snapshot, std::int32_t state_id,
                                                  const std::string& name) {
    const auto meaning = ftlfeed::capture::state_meaning(state_id, name);
    snapshot.state_id = state_id;
    snapshot.state = name;
    snapshot.is_known_state = meaning.is_known;
    snapshot.is_terminal = meaning.is_terminal;
    snapshot.has_started = meaning.has_started;
    return snapshot;
}

}  // namespace ftl::test
