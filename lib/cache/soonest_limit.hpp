#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::cache {

/// The soonest limit of all that stand in a queue whose first is answered first. Pure. Cost: constant on average, however
/// many wait: one that came earlier and has a later limit than its successor can never be the soonest.
class SoonestLimit {
public:
    void push(core::SteadyTime limit) {
        while (!candidates_.empty() && candidates_.back().second >= limit) candidates_.pop_back();
        candidates_.emplace_back(pushed_++, limit);
    }
    /// The first of the queue leaves it.
    void pop() {
        if (candidates_.front().first == popped_) candidates_.pop_front();
        ++popped_;
    }
    void clear() { *this = {}; }
    [[nodiscard]] std::optional<core::SteadyTime> soonest() const {
        if (candidates_.empty()) return std::nullopt;
        return candidates_.front().second;
    }

private:
    std::deque<std::pair<std::uint64_t, core::SteadyTime>> candidates_;  ///< Limits grow from the first to the last.
    std::uint64_t pushed_ = 0;
    std::uint64_t popped_ = 0;
};

}  // namespace ftlfeed::cache
