#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/store/lease.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::capture {

/// What the holder of a lease may rely on at this moment.
struct LeaseState {
    bool is_valid = false;
    /// Grows whenever the lease was not held without a break: what was remembered under another generation is worth
    /// nothing.
    std::uint64_t generation = 0;
    bool operator==(const LeaseState&) const = default;
};

/// Holds a lease, or waits for it, on a session and a thread of its own, so that a slow poll does not lose it.
/// Threads: run() belongs to one thread, state() is thread-safe.
class LeaseKeeper {
public:
    struct Settings {
        std::string name;
        std::chrono::milliseconds ttl{8000};
        std::chrono::milliseconds renew_interval{2000};  ///< While it is held.
        std::chrono::milliseconds watch_interval{1000};  ///< While another holds it.
    };
    LeaseKeeper(std::function<store::Session()> connect, Settings settings, core::Clock& clock);

    /// Until stop: then the lease is given up at once, so that another need not wait for the TTL. Postgres away is no end:
    /// it is tried again, and the lease lapses by itself.
    void run(const std::stop_token& stop);
    [[nodiscard]] LeaseState state() const;

private:
    struct Held {
        bool is_held = false;
        core::SteadyTime valid_until{};
        std::uint64_t generation = 0;
    };
    void renew(store::Lease& lease, store::Session& session);
    void lost_sight(const std::string& reason);

    std::function<store::Session()> connect_;
    Settings settings_;
    core::Clock& clock_;
    core::Guarded<Held> held_;
    std::int64_t fence_ = 0;
    bool is_out_of_sight_ = false;
};

}  // namespace ftlfeed::capture
