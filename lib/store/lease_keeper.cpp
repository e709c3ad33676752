#include <ftlfeed/store/lease_keeper.hpp>

#include <optional>
#include <utility>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::store {

LeaseKeeper::LeaseKeeper(std::function<Session()> connect, Settings settings, core::Clock& clock,
                         std::function<void()> on_change)
    : connect_(std::move(connect)),
      settings_(std::move(settings)),
      clock_(clock),
      on_change_(std::move(on_change)),
      lease_(settings_.name, process_identity(), settings_.ttl, clock),
      held_(Held{0, {}, 0, "not asked yet"}) {}

LeaseKeeper::Held LeaseKeeper::held() const {
    return held_.with([](const Held& held) { return held; });
}

LeaseState LeaseKeeper::state() const {
    const auto now = clock_.steady_now();
    return held_.with([now](const Held& held) { return LeaseState{held.is_valid(now), held.generation}; });
}

void LeaseKeeper::renew(Session& session) {
    const auto fence_before = lease_.fence();
    const bool is_held = lease_.renew(session);
    auto held = this->held();
    // A take-over, or a renewal after the validity had run out: in between another may have been at work.
    if (lease_.fence() != fence_before || clock_.steady_now() >= held.valid_until) ++held.generation;
    held.fence = is_held ? lease_.fence() : 0;
    held.valid_until = lease_.valid_until();
    held.trouble = is_held ? "" : "another process holds " + settings_.name;
    note(held);
    is_out_of_sight_ = false;
}

void LeaseKeeper::note(const Held& held) {
    const bool is_change = held_.with([&](Held& mine) { return std::exchange(mine, held).fence != held.fence; });
    if (!is_change) return;
    core::log_info(held.fence != 0 ? "store.lease_held" : "store.lease_not_held",
                   {{"lease", settings_.name}, {"fence", held.fence}, {"reason", held.trouble}});
    on_change_();
}

void LeaseKeeper::lost_sight(const std::string& reason) {
    held_.with([&](Held& held) { held.trouble = reason; });
    if (std::exchange(is_out_of_sight_, true)) return;
    core::log_warning("store.lease_unreachable", {{"lease", settings_.name}, {"reason", reason}});
}

void LeaseKeeper::run(const std::stop_token& stop) {
    std::optional<Session> session;
    while (!stop.stop_requested()) {
        try {
            if (!session) session.emplace(connect_());
            renew(*session);
        } catch (const core::Failure& failure) {
            // What was held stays valid until its time is over, by our own clock; nobody else may have it earlier.
            lost_sight(failure.what());
            if (session && session->is_broken()) session.reset();
        }
        clock_.sleep_for(lease_.is_held() ? settings_.renew_interval : settings_.watch_interval, stop);
    }
    // First we no longer act as its holder, then another may have it.
    note({0, {}, held().generation, "stopped"});
    if (session) release(*session);
}

void LeaseKeeper::release(Session& session) {
    try {
        lease_.release(session);
    } catch (const core::Failure& failure) {
        // The next one waits for the TTL instead.
        core::log_warning("store.lease_not_released", {{"lease", settings_.name}, {"reason", failure.what()}});
    }
}

}  // namespace ftlfeed::store
