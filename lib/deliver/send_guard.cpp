#include "deliver/send_guard.hpp"

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::deliver {

core::Deadline LeaseGuard::deadline() const {
    const auto held = parts_.lease.held();
    const auto until = held.fence == us_.fence ? held.valid_until : core::SteadyTime{};  // Over.
    return send_deadline(settings_->limits, started_, until, parts_.margin)
        .earlier(core::Deadline(parts_.stop_limit.load()));
}

bool LeaseGuard::holds_lease() const {
    const auto held = parts_.lease.held();
    const bool is_active = destination_.state.with([](const Destination::State& state) { return state.is_active; });
    return is_active && held.fence == us_.fence && held.is_valid(parts_.clock.steady_now() + parts_.margin);
}

bool LeaseGuard::may_publish() {
    if (sending_ == nullptr || !holds_lease() || deadline().is_over(parts_.clock.steady_now())) return false;
    try {
        auto session = parts_.pool.borrow();
        if (!deliver::may_publish(*session, settings_->id, us_, *sending_)) return false;
    } catch (const core::Failure& failure) {
        // Whoever cannot ask must not publish: another worker may be at it.
        core::log_warning("deliver.not_published", {{"destination", settings_->label}, {"error", failure.what()}});
        could_not_ask_ = true;
        return false;
    }
    // The answer may have taken long.
    return holds_lease();
}

}  // namespace ftlfeed::deliver
