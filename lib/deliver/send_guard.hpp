#pragma once

#include <atomic>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/deliver/transport.hpp>
#include <ftlfeed/store/lease_keeper.hpp>
#include <ftlfeed/store/pool.hpp>

#include "deliver/destination.hpp"
#include "deliver/send_record.hpp"

namespace ftlfeed::deliver {

/// Lease, ownership and version, asked by the transport while it sends. Threads: confined to the sender thread.
class LeaseGuard final : public SendGuard {
public:
    struct Parts {
        store::Pool& pool;
        core::Clock& clock;
        const store::LeaseKeeper& lease;
        std::chrono::milliseconds margin;
        const std::atomic<core::SteadyTime>& stop_limit;  ///< Looked at again and again: a stop may come during a send.
    };
    LeaseGuard(Parts parts, Destination& destination, SettingsPtr settings, WorkerIdentity us)
        : parts_(parts),
          destination_(destination),
          settings_(std::move(settings)),
          us_(std::move(us)),
          started_(parts.clock.steady_now()) {}

    /// May be called without: a look publishes nothing.
    void guards(const Sending& sending) { sending_ = &sending; }

    [[nodiscard]] core::Deadline deadline() const override;
    [[nodiscard]] bool may_publish() override;
    /// may_publish() could not ask: Postgres is away.
    [[nodiscard]] bool could_not_ask() const { return could_not_ask_; }

private:
    [[nodiscard]] bool holds_lease() const;

    Parts parts_;
    Destination& destination_;
    SettingsPtr settings_;
    WorkerIdentity us_;
    core::SteadyTime started_;
    const Sending* sending_ = nullptr;
    bool could_not_ask_ = false;
};

}  // namespace ftlfeed::deliver
