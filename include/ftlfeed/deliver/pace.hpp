#pragma once

#include <chrono>
#include <optional>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::deliver {

/// How often a destination is tried while it fails.
struct Pace {
    int fast_retries_max = 5;                 ///< Quick tries before the slow pace, 0 to 16.
    std::chrono::milliseconds first{500};     ///< Ceiling of the first wait; doubles with each quick try.
    std::chrono::milliseconds slow{300'000};  ///< Then every so often, for ever.

    bool operator==(const Pace&) const = default;
};

constexpr std::chrono::milliseconds kRetryAfterMax = std::chrono::hours(24);
/// A newer version may bring the next try forward to this long after the last one, not more.
constexpr std::chrono::milliseconds kEarlyTryInterval = std::chrono::minutes(1);

/// When to send again after `failures` failures in a row. Pure: it decides, the sender waits. `jitter` is in [0, 1).
[[nodiscard]] core::SteadyTime next_try(const Pace& pace, int failures, const core::Failure& failure,
                                        core::SteadyTime now, double jitter);

/// Failures in a row of a destination, or of one file of it, and what follows from them. A value; only success resets.
struct Tries {
    int failures = 0;
    core::SteadyTime next_try = core::SteadyTime::min();  ///< min() = at once.
    core::SteadyTime last_try = core::SteadyTime::min();
    /// May a newer version bring the next try forward? Not after a refusal that lasts, nor before a Retry-After is over.
    bool may_come_early = true;

    [[nodiscard]] bool may_try(core::SteadyTime now) const { return now >= next_try; }
    bool operator==(const Tries&) const = default;
};

/// After one more failure at `now`. Pure.
[[nodiscard]] Tries after_failure(const Tries& tries, const Pace& pace, const core::Failure& failure,
                                  core::SteadyTime now, double jitter);
/// After a newer version came at `now`: back-off stays in force, but the next try comes within a minute of the last one
/// (an old file at a receiver is worth a knock). Uses up no try. Pure.
[[nodiscard]] Tries after_newer_version(const Tries& tries, core::SteadyTime now);

/// What the table keeps of Tries, relative to Postgres's clock.
struct StoredTries {
    int failures = 0;
    std::optional<std::chrono::milliseconds> left;  ///< Until next_try; negative when it has passed; none = at once.
    bool lasts = false;
};
/// Loads them. A stored time is worth no more than `pace.slow` from now: clocks step, and a destination must not be
/// silent for a year because of it. Pure.
[[nodiscard]] Tries tries_from(const StoredTries& stored, const Pace& pace, core::SteadyTime now);

}  // namespace ftlfeed::deliver
