#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/version.hpp>

namespace ftlfeed::deliver {

/// How a key of the cache stands to our record of it.
enum class CacheStanding {
    kSame,
    kBehind,  ///< Missing or older: pushed again.
    kAhead,   ///< Newer than what we have: somebody wrote what we lost. Only a new epoch gets above it.
};
/// Pure. `cached` was read before `ours`: a version that was committed in between makes it look behind, never ahead.
[[nodiscard]] CacheStanding standing_of(const core::Version& ours, const std::optional<core::Version>& cached);

/// Which comparison is due. The totals' is short and often; the documents' is long and seldom, and at once after all that
/// tells of a cache that is not the one it was. Pure: the time is passed in. Threads: confined.
class ComparisonSchedule {
public:
    ComparisonSchedule(std::chrono::milliseconds totals_interval, std::chrono::milliseconds documents_interval)
        : totals_interval_(totals_interval), documents_interval_(documents_interval) {}

    struct Due {
        bool totals = false;
        bool documents = false;
    };
    /// `connections`: how often the cache's connection was made; another server, or the same one started again, answers
    /// on another connection.
    [[nodiscard]] Due due(core::SteadyTime now, std::uint64_t connections) const;
    /// `is_lost`: a total or the mark of readiness was missing or older, so that other keys may be gone as well.
    void totals_compared(core::SteadyTime now, bool is_lost);
    void documents_compared(core::SteadyTime now, std::uint64_t connections);
    /// Everything is due: the cache has become ours, or the epoch has moved.
    void start_anew();
    [[nodiscard]] core::SteadyTime wake_at() const { return std::min(next_totals_, next_documents_); }

private:
    std::chrono::milliseconds totals_interval_;
    std::chrono::milliseconds documents_interval_;
    core::SteadyTime next_totals_ = core::SteadyTime::min();
    core::SteadyTime next_documents_ = core::SteadyTime::min();
    std::uint64_t connections_ = 0;
};

}  // namespace ftlfeed::deliver
