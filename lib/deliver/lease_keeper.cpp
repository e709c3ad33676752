#include "deliver/lease_keeper.hpp"

#include <memory>
#include <optional>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/store/lease.hpp>

namespace ftlfeed::deliver {

LeaseKeeper::LeaseKeeper(std::string name, std::chrono::milliseconds ttl, store::ConnectionSettings connection,
                         core::Clock& clock, std::function<void()> on_change)
    : name_(std::move(name)),
      process_(store::process_identity()),
      ttl_(ttl),
      connection_(std::move(connection)),
      clock_(clock),
      on_change_(std::move(on_change)),
      held_(Held{0, {}, "not asked yet"}),
      thread_([this](const std::stop_token& stop) { keep(stop); }) {}

LeaseKeeper::~LeaseKeeper() = default;

LeaseKeeper::Held LeaseKeeper::held() const {
    return held_.with([](const Held& held) { return held; });
}

void LeaseKeeper::note(const Held& held) {
    const bool is_change = held_.with([&](Held& mine) {
        const bool differs = mine.fence != held.fence;
        mine = held;
        return differs;
    });
    if (!is_change) return;
    core::log_info(held.fence != 0 ? "deliver.lease_held" : "deliver.lease_not_held",
                   {{"lease", name_}, {"fence", held.fence}, {"reason", held.trouble}});
    on_change_();
}

void LeaseKeeper::keep(const std::stop_token& stop) {
    std::unique_ptr<store::Session> session;
    store::Lease lease(name_, process_, ttl_, clock_);
    while (!stop.stop_requested()) {
        try {
            if (!session || session->is_broken()) session = std::make_unique<store::Session>(connection_);
            const bool is_ours = lease.renew(*session);
            note({is_ours ? lease.fence() : 0, lease.valid_until(), is_ours ? "" : "another process holds " + name_});
        } catch (const core::Failure& failure) {
            // What was won before stands until valid_until(); nobody else may have it earlier.
            auto held = this->held();
            held.trouble = failure.what();
            note(held);
        }
        clock_.sleep_for(ttl_ / 4, stop);
    }
    try {
        if (session && !session->is_broken()) lease.release(*session);
    } catch (const core::Failure& failure) {
        // The next one waits for the TTL instead.
        core::log_warning("deliver.lease_not_released", {{"lease", name_}, {"error", failure.what()}});
    }
    note({0, {}, "stopped"});
}

}  // namespace ftlfeed::deliver
