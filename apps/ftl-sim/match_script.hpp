#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tournament.hpp"

namespace ftlfeed::sim {

/// The value is the provider's state id. Ids are not in the order of play.
enum class State : int {
    kNotStarted = 1,
    kFirstHalf = 2,
    kHalfTime = 3,
    kBreak = 4,  ///< 90 minutes are over, extra time is to come.
    kFullTime = 5,
    kExtraTime = 6,
    kAfterExtraTime = 7,
    kAfterPenalties = 8,
    kPenalties = 9,
    kExtraTimeBreak = 21,
    kSecondHalf = 22,
    kExtraTimeSecondHalf = 23,
    kPenaltyBreak = 25,
};

/// What the match is like from `at` on, until the next snapshot.
struct Snapshot {
    std::chrono::sys_seconds at;
    State state = State::kNotStarted;
    std::size_t events = 0;         ///< So many of Match::events have been seen.
    std::size_t kicks = 0;          ///< So many of Match::kicks.
    Goals current;                  ///< The running score, without the shoot-out.
    std::optional<Goals> shootout;  ///< From the beginning of the shoot-out.
};

struct Period {
    int type_id = 1;  ///< 1 and 2 the halves, 3 and 4 those of extra time, 5 the shoot-out.
    std::string description;
    int counts_from = 0;
    int length = 45;  ///< Minutes, without those added.
    int added = 0;    ///< Minutes; shown once the period has ended.
    std::chrono::sys_seconds started;
    std::chrono::sys_seconds ended;
};

/// A whole match, laid out on the provider's clock: one snapshot for each instant at which anything changes.
/// A match without a score has none. The last snapshot is the end.
struct MatchScript {
    std::vector<Snapshot> snapshots;
    std::vector<Period> periods;

    /// None before kick-off. Thereafter the snapshot that holds at `now`.
    [[nodiscard]] const Snapshot* at(std::chrono::sys_seconds now) const;
    [[nodiscard]] bool has_ended(std::chrono::sys_seconds now) const {
        return !snapshots.empty() && snapshots.back().at <= now;
    }
};

/// Pure. Full time shows for a minute before the break of a match that goes on.
[[nodiscard]] MatchScript write_script(const Match& match);

/// All instants of all scripts, each once, in order.
[[nodiscard]] std::vector<std::chrono::sys_seconds> instants_of(const std::vector<MatchScript>& scripts);

}  // namespace ftlfeed::sim
