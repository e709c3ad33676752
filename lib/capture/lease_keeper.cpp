#include <ftlfeed/capture/lease_keeper.hpp>

#include <optional>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::capture {

LeaseKeeper::LeaseKeeper(std::function<store::Session()> connect, Settings settings, core::Clock& clock)
    : connect_(std::move(connect)), settings_(std::move(settings)), clock_(clock) {}

LeaseState LeaseKeeper::state() const {
    const auto now = clock_.steady_now();
    return held_.with([now](const Held& held) {
        return LeaseState{held.is_held && now < held.valid_until, held.generation};
    });
}

void LeaseKeeper::renew(store::Lease& lease, store::Session& session) {
    const bool was_held = held_.with([](const Held& held) { return held.is_held; });
    const bool is_held = lease.renew(session);
    const auto now = clock_.steady_now();
    held_.with([&](Held& held) {
        // A take-over, or a renewal after the validity had run out: in between another may have been at work.
        if (lease.fence() != fence_ || now >= held.valid_until) ++held.generation;
        held.is_held = is_held;
        held.valid_until = lease.valid_until();
    });
    fence_ = lease.fence();
    if (is_held != was_held) {
        core::log_info(is_held ? "capture.lease_held" : "capture.lease_waiting",
                       {{"lease", settings_.name}, {"fence", fence_}});
    }
    is_out_of_sight_ = false;
}

void LeaseKeeper::lost_sight(const std::string& reason) {
    if (!is_out_of_sight_) core::log_warning("capture.lease_unreachable", {{"reason", reason}});
    is_out_of_sight_ = true;
}

void LeaseKeeper::run(const std::stop_token& stop) {
    store::Lease lease(settings_.name, store::process_identity(), settings_.ttl, clock_);
    std::optional<store::Session> session;
    while (!stop.stop_requested()) {
        try {
            if (!session) session.emplace(connect_());
            renew(lease, *session);
        } catch (const core::Failure& failure) {
            // What was held stays valid until its time is over, by our own clock.
            lost_sight(failure.what());
            if (session && session->is_broken()) session.reset();
        }
        clock_.sleep_for(lease.is_held() ? settings_.renew_interval : settings_.watch_interval, stop);
    }
    held_.with([](Held& held) { held.is_held = false; });
    try {
        if (session) lease.release(*session);
    } catch (const core::Failure& failure) {
        core::log_warning("capture.lease_not_released", {{"reason", failure.what()}});  // It lapses by itself.
    }
}

}  // namespace ftlfeed::capture
