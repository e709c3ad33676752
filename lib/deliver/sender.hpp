#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/metrics.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>
#include <ftlfeed/deliver/remote_path.hpp>
#include <ftlfeed/store/lease_keeper.hpp>
#include <ftlfeed/store/pool.hpp>

#include "deliver/body_cache.hpp"
#include "deliver/destination.hpp"
#include "deliver/send_record.hpp"

namespace ftlfeed::deliver {

/// What all sender threads share. Each part is thread-safe.
struct SenderParts {
    store::Pool& pool;
    BodyCache& bodies;
    const TransportFactory& transports;
    core::Clock& clock;
    const store::LeaseKeeper& lease;
    std::string worker;
    std::chrono::milliseconds lease_margin;
    /// Called when a destination rests until a later time.
    std::function<void()> on_rest;
};

/// Drains destinations: the thin loop around the queue, the decisions, the tables and the transport.
/// Threads: thread-safe; each destination is drained by one thread at a time.
class Sender {
public:
    explicit Sender(SenderParts parts);

    /// Does what is due for the destination, then returns. Does not throw.
    void drain(Destination& destination);
    /// From now on nothing new is begun, and sends under way end by `limit`.
    void stop(core::SteadyTime limit);
    [[nodiscard]] core::SteadyTime stop_limit() const;

private:
    /// One file of one destination, while it is worked on.
    struct Task {
        Destination& destination;
        SettingsPtr settings;
        Job job;
        WorkerIdentity us;
    };

    std::optional<Task> next_task(Destination& destination);
    void carry_out(Task& task);
    void send(Task& task);
    void transfer(Task& task, Sending sending, bool is_removal);
    /// The document is gone, or the destination no longer wants it.
    void forget(Task& task);
    void settle(Task& task);
    void look_again(Task& task);
    /// The transport, made anew when the settings have changed. Throws core::Failure::permanent.
    Transport& transport_of(Task& task);
    [[nodiscard]] static bool has_failures(Task& task);

    void delivered(Task& task, const Sending& sending, const Proof& proof);
    void file_refused(Task& task, const Refused& refused, const core::Version& version,
                      const std::optional<Sending>& sending);
    void destination_failed(Task& task, const core::Failure& failure, const core::Version& version,
                            const std::optional<Sending>& sending);
    void withheld(Task& task, const Sending& sending);
    void receiver_gone(Task& task, const Gone& gone, const Sending& sending);
    /// Our own Postgres is away or the lease is gone: no fault of the destination's.
    void put_back(Task& task, bool must_settle);
    void record(Task& task, const FailedTry& failed);

    SenderParts parts_;
    std::atomic<core::SteadyTime> stop_limit_{core::SteadyTime::max()};
    core::Counter sent_;
    core::Counter settled_;
    core::Counter failed_;
    core::Counter refused_;
    core::Histogram seconds_;
};

}  // namespace ftlfeed::deliver
