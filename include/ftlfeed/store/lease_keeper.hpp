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

namespace ftlfeed::store {

/// What the holder of a lease may rely on at this moment. A value.
struct LeaseState {
    bool is_valid = false;
    /// Grows whenever the lease was not held without a break: what was remembered under another generation is worth
    /// nothing.
    std::uint64_t generation = 0;
    bool operator==(const LeaseState&) const = default;
};

/// Holds a lease, or waits for it, on a session and a thread of its own, so that nothing else can delay a renewal.
/// Threads: run() belongs to one thread, all else is thread-safe.
class LeaseKeeper {
public:
    struct Settings {
        std::string name;
        std::chrono::milliseconds ttl{8000};
        std::chrono::milliseconds renew_interval{2000};  ///< While it is held.
        std::chrono::milliseconds watch_interval{1000};  ///< While another holds it.
    };
    /// `on_change` is called on run()'s thread when the lease was won or lost; short, must not throw.
    LeaseKeeper(
        std::function<Session()> connect, Settings settings, core::Clock& clock,
        std::function<void()> on_change = [] {});

    /// Until stop: then the lease is given up at once, so that another need not wait for the TTL. Postgres away is no end:
    /// it is tried again, and the lease lapses by itself.
    void run(const std::stop_token& stop);

    struct Held {
        std::int64_t fence = 0;  ///< 0 = not held.
        core::SteadyTime valid_until{};
        std::uint64_t generation = 0;  ///< As LeaseState's.
        std::string trouble;           ///< Why it is not held, or not renewed.

        [[nodiscard]] bool is_valid(core::SteadyTime now) const { return fence != 0 && now < valid_until; }
    };
    [[nodiscard]] Held held() const;
    [[nodiscard]] LeaseState state() const;
    /// This process, as the lease names its holder.
    [[nodiscard]] const std::string& holder() const { return lease_.holder(); }

private:
    void renew(Session& session);
    void note(const Held& held);
    void lost_sight(const std::string& reason);
    void release(Session& session);

    const std::function<Session()> connect_;
    const Settings settings_;
    core::Clock& clock_;
    const std::function<void()> on_change_;
    Lease lease_;
    bool is_out_of_sight_ = false;
    core::Guarded<Held> held_;
};

}  // namespace ftlfeed::store
