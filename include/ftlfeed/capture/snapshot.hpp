#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ftlfeed::capture {

/// Something that has an id of the provider's and a name (a team, a player). The name is trimmed and otherwise exactly
/// as the provider wrote it; it may be empty.
struct NamedRef {
    std::int64_t id = 0;
    std::string name;
    bool operator==(const NamedRef&) const = default;
};

/// Goals of both sides.
struct Score {
    std::int32_t home = 0;
    std::int32_t away = 0;
    bool operator==(const Score&) const = default;
};

enum class Side { kHome, kAway };
[[nodiscard]] constexpr Side other(Side side) { return side == Side::kHome ? Side::kAway : Side::kHome; }

/// What a VAR row says of another event, as far as its words are known.
enum class VarVerdict { kNone, kUnderReview, kTakesBack, kConfirms };

/// One row of the provider's event list, normalised. A value.
struct EventSnapshot {
    std::int64_t id = 0;
    std::int32_t type_id = 0;
    std::optional<std::int32_t> minute;
    std::optional<std::int32_t> extra_minute;  ///< None for null, 0, "0", "" and absent (B21), and without a minute.
    std::optional<std::int64_t> participant_id;
    std::optional<NamedRef> player;
    std::optional<NamedRef> related_player;  ///< Assist of a goal; who goes off in a substitution.
    std::optional<Score> result;             ///< Running score after the event, when the provider tells it.
    std::optional<bool> rescinded;
    VarVerdict verdict = VarVerdict::kNone;  ///< Of a VAR row. No content: it makes no revision.
    std::string raw;                         ///< The row's bytes as they came: valid JSON, unknown keys and all.
    bool operator==(const EventSnapshot&) const = default;
};

/// A row that cannot be stored as it is: it goes to quarantine, alone.
struct RejectedEvent {
    std::optional<std::int64_t> id;  ///< When it could be read.
    std::string raw;
    std::string reason;
    bool operator==(const RejectedEvent&) const = default;
};

/// One fixture in one answer, free of the provider's habits. A value.
struct FixtureSnapshot {
    std::int64_t id = 0;
    std::int64_t season_id = 0;
    std::optional<NamedRef> home;
    std::optional<NamedRef> away;
    std::optional<std::chrono::sys_seconds> kickoff;
    std::int32_t state_id = 0;
    std::string state;  ///< The provider's developer name, kept raw when unknown.
    bool is_known_state = true;
    bool is_terminal = false;  ///< The state is one that ends a match; full time shows briefly before extra time too.
    bool has_started = false;
    std::string group;  ///< Empty: none, as in a knockout match.
    std::string round;
    std::string stage;
    std::optional<Score> score;       ///< After extra time where there was any, without the shoot-out (B17).
    std::optional<Score> half_score;  ///< At half time.
    std::optional<Score> shootout;
    bool has_event_list = false;          ///< False: the answer says nothing of events, which is not "no events".
    std::vector<EventSnapshot> events;    ///< Sorted by id, each id once.
    std::vector<RejectedEvent> rejected;  ///< Rows of the list that are not in `events`.
    bool operator==(const FixtureSnapshot&) const = default;

    /// The whole event list was there and readable.
    [[nodiscard]] bool is_complete() const { return has_event_list && rejected.empty(); }
    [[nodiscard]] std::optional<Side> side_of(std::optional<std::int64_t> participant_id) const {
        if (!participant_id) return std::nullopt;
        if (home && home->id == *participant_id) return Side::kHome;
        if (away && away->id == *participant_id) return Side::kAway;
        return std::nullopt;
    }
};

/// A fixture of a list that could not be read at all (no id, a team's name that no database takes).
struct RejectedFixture {
    std::optional<std::int64_t> id;
    std::string raw;
    std::string reason;
    bool operator==(const RejectedFixture&) const = default;
};

/// SHA-256 of the whole normalised fixture: state, score, kick-off, names, events, and the bytes of rejected rows.
/// Spellings that mean the same (B21, B39) give the same digest. Pure.
[[nodiscard]] std::vector<std::uint8_t> digest(const FixtureSnapshot& snapshot);

/// SHA-256 of what makes an event's revision: everything but names, whose spelling differs from answer to answer (B47).
/// `team_side` is derived and part of it: who profits from an own goal may become known later. Pure.
[[nodiscard]] std::vector<std::uint8_t> content_hash(const EventSnapshot& event, std::optional<Side> team_side);

}  // namespace ftlfeed::capture
