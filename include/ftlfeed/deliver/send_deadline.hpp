#pragma once

#include <chrono>

#include <ftlfeed/core/deadline.hpp>

namespace ftlfeed::deliver {

/// How long the parts of one send may take.
struct SendLimits {
    std::chrono::milliseconds connect{10'000};  ///< DNS included.
    std::chrono::milliseconds bytes{60'000};    ///< From the first byte to the last.
    std::chrono::milliseconds reply{120'000};   ///< From the last byte to the receiver's answer.
    std::int64_t bytes_per_second_min = 1024;   ///< Slower than this is given up; 0 = no minimum.

    [[nodiscard]] std::chrono::milliseconds whole() const { return connect + bytes + reply; }
    bool operator==(const SendLimits&) const = default;
};

/// When a send that began at `started` must be over: at its own limits, or `margin` before the lease ends, whichever is
/// first. `lease_valid_until` is the start of the last successful renewal + TTL: ask again after each renewal. Pure.
[[nodiscard]] core::Deadline send_deadline(const SendLimits& limits, core::SteadyTime started,
                                           core::SteadyTime lease_valid_until, std::chrono::milliseconds margin);

/// When a new owner may trust what it sees at the receiver: the sender that it replaced was alive at `last_moved` (its
/// lease was seen to move) and may have bytes under way until the greater of its limits and the TTL has passed. Pure.
[[nodiscard]] core::SteadyTime look_again_at(const SendLimits& limits, core::SteadyTime last_moved,
                                             std::chrono::milliseconds ttl);

}  // namespace ftlfeed::deliver
