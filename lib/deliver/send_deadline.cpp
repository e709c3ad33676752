#include <ftlfeed/deliver/send_deadline.hpp>

namespace ftlfeed::deliver {

core::Deadline send_deadline(const SendLimits& limits, core::SteadyTime started, core::SteadyTime lease_valid_until,
                             std::chrono::milliseconds margin) {
    return core::Deadline(started + limits.whole()).earlier(core::Deadline(lease_valid_until - margin));
}

core::SteadyTime look_again_at(const SendLimits& limits, core::SteadyTime last_moved, std::chrono::milliseconds ttl) {
    return last_moved + std::max(limits.whole(), ttl);
}

}  // namespace ftlfeed::deliver
