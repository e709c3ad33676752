#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/deliver/transport.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// The section `deliver` of the configuration.
struct DeliverSettings {
    bool is_enabled = false;                        ///< Off: nothing leaves the house; our own cache is served.
    std::string worker = "main";                    ///< Names this worker's lease `deliver:NAME`.
    std::chrono::milliseconds poll_interval{500};   ///< Looks for new versions though nobody notified.
    std::chrono::milliseconds look_interval{1000};  ///< Looks for changed settings and dead workers.
    std::chrono::milliseconds lease_ttl{5000};
    std::chrono::milliseconds lease_margin{500};       ///< A send ends this long before the lease does.
    std::chrono::milliseconds drain_limit{8000};       ///< After a stop, sends under way get this long.
    std::int64_t threads_max = 2048;                   ///< Sender threads: far above what can hang at once.
    std::int64_t sessions_max = 4;                     ///< Postgres sessions that the senders share.
    std::int64_t body_cache_bytes = 64 * 1024 * 1024;  ///< Bodies kept for the next destination that sends them.
    std::vector<std::string> allowed_hosts;            ///< The fence (host_fence.hpp).
    std::string master_key_file;                       ///< Opens delivery_credential.
    std::vector<std::string> resolve_programs;         ///< Programs that credentials may be resolved by.
    std::string tls_roots_file;                        ///< PEM; empty: the system's roots.
};
/// Binds the section's keys.
void bind_settings(core::Settings& settings, DeliverSettings& target);

/// The settings of one destination, for who tries it by hand. Throws core::InvalidInput when there is none.
[[nodiscard]] DestinationSettings read_destination_settings(store::Session& session, AssignmentId id);

/// Makes the transport of a destination. Throws core::InvalidInput when the settings do not fit it.
using TransportFactory = std::function<std::unique_ptr<Transport>(const DestinationSettings& settings)>;
/// The transports of this build, by name: `directory`, `webhook`, `redis`, and `cache` on `own_cache`. Every host passes the fence
/// first.
[[nodiscard]] TransportFactory built_in_transports(const DeliverSettings& settings, const core::Clock& clock,
                                                   std::shared_ptr<cache::CacheClient> own_cache = nullptr);

/// Sends every file version to every destination that wants it, with proof. One in a process; several workers share the
/// destinations by leases. Tables: docs/deliver.md. Threads: run() keeps the calling thread, one for the lease, one
/// that listens, and one for each destination that has work; status() is thread-safe.
class Dispatcher {
public:
    Dispatcher(DeliverSettings settings, store::ConnectionSettings connection, TransportFactory transports,
               core::Clock& clock);
    ~Dispatcher();
    Dispatcher(const Dispatcher&) = delete;
    Dispatcher& operator=(const Dispatcher&) = delete;

    /// Works until `stop`, then drains: sends under way finish within `drain_limit`, the lease is given back. Postgres
    /// away is waited out. Throws only core::Bug.
    void run(const std::stop_token& stop);
    /// There is a new version: look now, before NOTIFY or the next poll tells it. Thread-safe; blocks nobody.
    void wake();

    struct Status {
        bool is_ready = false;  ///< Connected, and it holds its lease.
        std::string reason;     ///< Why not, for /readyz.
        std::size_t destinations = 0;
        std::size_t owed_files = 0;
        std::size_t threads = 0;
    };
    [[nodiscard]] Status status() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Deletes the history of attempts: failed ones older than `failed_kept`, proven ones older than `proven_kept`, at most
/// `rows_max` of each a call. Never the proof of what a receiver holds now. Returns how many.
std::int64_t trim_attempts(store::Session& session, std::chrono::hours failed_kept, std::chrono::hours proven_kept,
                           std::int64_t rows_max = 10'000);

}  // namespace ftlfeed::deliver
