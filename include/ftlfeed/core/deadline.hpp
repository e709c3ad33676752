#pragma once

#include <algorithm>
#include <chrono>

#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::core {

/// A point in steady time by which a call must be over. A value; immutable.
class Deadline {
public:
    explicit Deadline(SteadyTime at) : at_(at) {}
    static Deadline in(const Clock& clock, std::chrono::milliseconds length) {
        return Deadline(clock.steady_now() + length);
    }
    static Deadline never() { return Deadline(SteadyTime::max()); }

    [[nodiscard]] SteadyTime at() const { return at_; }
    [[nodiscard]] bool is_over(SteadyTime now) const { return now >= at_; }
    /// Never negative.
    [[nodiscard]] std::chrono::milliseconds left(SteadyTime now) const {
        using std::chrono::milliseconds;
        if (at_ == SteadyTime::max()) return milliseconds::max();
        return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(at_ - now));
    }
    [[nodiscard]] Deadline earlier(Deadline other) const { return Deadline(std::min(at_, other.at_)); }

    bool operator==(const Deadline&) const = default;

private:
    SteadyTime at_;
};

}  // namespace ftlfeed::core
