#include <ftlfeed/deliver/pace.hpp>

#include <algorithm>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/backoff.hpp>

namespace ftlfeed::deliver {

core::SteadyTime next_try(const Pace& pace, int failures, const core::Failure& failure, core::SteadyTime now,
                          double jitter) {
    FTL_ASSERT(failures >= 1 && pace.fast_retries_max <= 16);  // Keeps full_jitter's doubling in range.

    // The receiver's wish comes first: a server that said 429 blocks clients that come back early.
    if (const auto wish = failure.retry_after()) {
        return now + std::clamp(*wish, std::chrono::milliseconds(0), kRetryAfterMax);
    }
    if (!failure.may_retry() || failures > pace.fast_retries_max) return now + pace.slow;

    // Full jitter, or every destination on one dead host would come back in the same second.
    return now + core::full_jitter(failures, pace.first, pace.slow, jitter);
}

Tries after_failure(const Tries& tries, const Pace& pace, const core::Failure& failure, core::SteadyTime now,
                    double jitter) {
    Tries next;
    next.failures = std::min(tries.failures, 1'000'000) + 1;  // For ever is long: the count has a bound.
    next.next_try = next_try(pace, next.failures, failure, now, jitter);
    next.last_try = now;
    next.may_come_early = failure.may_retry() && !failure.retry_after();
    return next;
}

Tries after_newer_version(const Tries& tries, core::SteadyTime now) {
    if (tries.failures == 0 || !tries.may_come_early) return tries;
    Tries next = tries;
    next.next_try = std::min(tries.next_try, std::max(now, tries.last_try + kEarlyTryInterval));
    return next;
}

Tries tries_from(const StoredTries& stored, const Pace& pace, core::SteadyTime now) {
    Tries tries;
    tries.failures = std::max(stored.failures, 0);
    if (tries.failures == 0) return tries;
    tries.last_try = now;  // Unknown; the careful guess.
    tries.may_come_early = !stored.lasts;
    if (stored.left) tries.next_try = now + std::clamp(*stored.left, std::chrono::milliseconds(0), pace.slow);
    return tries;
}

}  // namespace ftlfeed::deliver
