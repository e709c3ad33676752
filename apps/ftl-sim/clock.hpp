#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "match_script.hpp"

namespace ftlfeed::sim {

/// The provider's time. Never compared with a wall clock.
/// Threads: confined to the provider's thread.
class Clock {
public:
    using Monotonic = std::chrono::steady_clock::time_point;

    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock() = default;

    /// An in-play request has come in.
    virtual void inplay_requested(Monotonic moment) = 0;
    /// An in-play answer has left whole.
    virtual void inplay_delivered() = 0;
    [[nodiscard]] virtual std::chrono::sys_seconds now(Monotonic moment) const = 0;
};

/// `--speed max`: the reader moves the clock. It stands still until an in-play answer was delivered whole and the next
/// in-play request has come; then it goes to the next instant. So every instant is seen by an in-play answer, and a
/// reader that lost an answer gets the same instant again.
[[nodiscard]] std::unique_ptr<Clock> make_reader_clock(std::vector<std::chrono::sys_seconds> instants,
                                                       std::chrono::sys_seconds start);

/// A stretch in which a match is played.
struct Stretch {
    std::chrono::sys_seconds from;
    std::chrono::sys_seconds to;
    friend bool operator==(const Stretch&, const Stretch&) = default;
};

/// `--speed N`: N times real time from the first in-play request on; hours without a match are skipped.
[[nodiscard]] std::unique_ptr<Clock> make_paced_clock(std::vector<Stretch> stretches, double speed,
                                                      std::chrono::sys_seconds start);

/// When matches are played: from a minute before kick-off to a minute after the end, overlaps merged.
[[nodiscard]] std::vector<Stretch> stretches_of(const std::vector<MatchScript>& scripts);

}  // namespace ftlfeed::sim
