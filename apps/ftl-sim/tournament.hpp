#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ftlfeed::sim {

/// A data file that cannot be played. The message names the match and the field.
class DataError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class Side { kHome, kAway };

[[nodiscard]] constexpr Side other(Side side) { return side == Side::kHome ? Side::kAway : Side::kHome; }

/// The value is the provider's event type id.
enum class EventKind : int {
    kGoal = 14,
    kOwnGoal = 15,
    kPenalty = 16,
    kMissedPenalty = 17,
    kSubstitution = 18,
    kYellowCard = 19,
    kRedCard = 20,
    kYellowRedCard = 21,
    kShootoutMiss = 22,
    kShootoutGoal = 23,
};

/// True for what moves the score of the match (a kick of a shoot-out does not).
[[nodiscard]] constexpr bool is_goal(EventKind kind) {
    return kind == EventKind::kGoal || kind == EventKind::kOwnGoal || kind == EventKind::kPenalty;
}

/// A minute as football writes it: "90+4" is {90, 4}. Sorted by (minute, added), never by the sum.
struct GameTime {
    int minute = 0;
    int added = 0;
    friend auto operator<=>(const GameTime&, const GameTime&) = default;
};

/// 0 first half, 1 second half, 2 and 3 the halves of extra time.
[[nodiscard]] constexpr std::size_t half_of(const GameTime& at) {
    if (at.minute <= 45) return 0;
    if (at.minute <= 90) return 1;
    return at.minute <= 105 ? 2 : 3;
}

struct Goals {
    int home = 0;
    int away = 0;
    friend bool operator==(const Goals&, const Goals&) = default;
    [[nodiscard]] int& of(Side side) { return side == Side::kHome ? home : away; }
    [[nodiscard]] int of(Side side) const { return side == Side::kHome ? home : away; }
};

/// One row of the provider's event list.
struct MatchEvent {
    EventKind kind = EventKind::kGoal;
    Side side = Side::kHome;  ///< The team of the player; for an own goal the team that concedes.
    GameTime at;
    std::int64_t id = 0;                 ///< From the place in the file, so not in the order of play.
    std::size_t player = 0;              ///< Index in Tournament::players.
    std::optional<std::size_t> related;  ///< Assist, or who went off; index in Tournament::players.
};

struct Team {
    std::int64_t id = 0;
    std::string name;
};

/// One for each distinct (team, name); nothing is merged.
struct Player {
    std::int64_t id = 0;
    std::size_t team = 0;
    std::string name;
};

/// Something that only has an id and a name: group, round, ground.
struct Named {
    std::int64_t id = 0;
    std::string name;
};

struct Match {
    std::int64_t id = 0;
    std::size_t home = 0;
    std::size_t away = 0;
    std::chrono::sys_seconds kickoff;
    std::size_t round = 0;
    std::optional<std::size_t> group;  ///< None in a knockout match.
    std::optional<std::size_t> ground;
    std::optional<Goals> half_time;  ///< As the file says, kept beside: the score rows come from the goals.
    std::optional<Goals> full_time;
    std::optional<Goals> extra_time;
    std::optional<Goals> shootout;
    std::vector<MatchEvent> events;  ///< Sorted by (minute, added), then by the place in the file.
    std::vector<MatchEvent> kicks;   ///< The shoot-out in its order; empty when the file does not have it.

    /// A match without a score stays not started.
    [[nodiscard]] bool is_played() const { return full_time.has_value(); }
    /// After extra time where there was any, without the shoot-out.
    [[nodiscard]] Goals final_score() const { return extra_time ? *extra_time : full_time.value_or(Goals{}); }
    /// Goals of the first half, counted from the list of goals.
    [[nodiscard]] Goals first_half_goals() const;
    [[nodiscard]] bool half_time_disagrees() const { return half_time && *half_time != first_half_goals(); }
};

/// A competition as its file tells it. Immutable once read. Ids come from the place in the file alone, so that two
/// runs over one file give the same ids.
struct Tournament {
    std::string name;
    std::vector<Team> teams;
    std::vector<Player> players;
    std::vector<Named> rounds;
    std::vector<Named> groups;
    std::vector<Named> grounds;
    std::vector<Match> matches;
};

/// Adds one goal to the side that benefits.
void count_goal(Goals& goals, const MatchEvent& event);

/// Brings a file's minute into our form: above 90 without extra time is added time ("92" = 90+2), above 120 likewise.
[[nodiscard]] GameTime normalised(GameTime at, bool has_extra_time);

/// Reads openfootball's JSON in both of its shapes, and the extended one that `ftl-sim generate` writes.
/// Throws DataError; std::runtime_error when the file cannot be read.
[[nodiscard]] Tournament parse_tournament(const std::string& json);
[[nodiscard]] Tournament read_tournament(const std::string& path);

/// "90+4", "92" or "7" as GameTime. Throws DataError.
[[nodiscard]] GameTime parse_minute(const std::string& text);
/// "2026-06-11" and "13:00 UTC-6" as UTC; without a zone the time is UTC, without a time it is midnight. Throws DataError.
[[nodiscard]] std::chrono::sys_seconds parse_kickoff(const std::string& date, const std::string& time);

}  // namespace ftlfeed::sim
