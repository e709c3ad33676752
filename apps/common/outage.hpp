#pragma once

#include <chrono>
#include <optional>

#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::app {

/// How often an outage is written to the log: at once, then every 30 s, and once when it is over. It decides; the caller
/// writes. Threads: confined.
class Outage {
public:
    static constexpr std::chrono::seconds kRepeatInterval{30};

    /// Another failed try at `now`. True when it is to be logged.
    bool failed(core::SteadyTime now);
    /// It works. True when an outage that was logged ends now.
    bool recovered();
    /// Failed tries since the last success.
    [[nodiscard]] int failures() const { return failures_; }

private:
    std::optional<core::SteadyTime> last_logged_;
    int failures_ = 0;
};

}  // namespace ftlfeed::app
