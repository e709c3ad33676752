#include "common/outage.hpp"

#include <limits>

namespace ftlfeed::app {

bool Outage::failed(core::SteadyTime now) {
    if (failures_ < std::numeric_limits<int>::max()) ++failures_;
    if (last_logged_ && now - *last_logged_ < kRepeatInterval) return false;
    last_logged_ = now;
    return true;
}

bool Outage::recovered() {
    const bool was_out = last_logged_.has_value();
    last_logged_.reset();
    failures_ = 0;
    return was_out;
}

}  // namespace ftlfeed::app
