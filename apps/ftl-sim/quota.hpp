#pragma once

#include <chrono>
#include <optional>

namespace ftlfeed::sim {

/// Requests of the hour that began with the first of them. Real time, as the provider counts it.
/// Threads: confined to the provider's thread.
class Quota {
public:
    using Moment = std::chrono::steady_clock::time_point;

    /// 0: without a limit.
    explicit Quota(int per_hour) : per_hour_(per_hour) {}
    /// Counts one request. Returns false when the hour's are spent.
    bool spend(Moment moment);
    /// What an answer shows as the limit and as what is left; without a limit both are those of a plan and stay.
    [[nodiscard]] int limit() const;
    [[nodiscard]] int remaining() const { return limit() - spent_; }
    [[nodiscard]] int resets_in_seconds(Moment moment) const;

private:
    int per_hour_;
    int spent_ = 0;
    std::optional<Moment> since_;
};

}  // namespace ftlfeed::sim
