#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// Holds this worker's lease on a thread and a connection of its own, so that nothing else can delay a renewal.
/// Threads: all members are thread-safe.
class LeaseKeeper {
public:
    /// `on_change` is called on the keeper's thread when the lease was won or lost; short, must not throw.
    LeaseKeeper(std::string name, std::chrono::milliseconds ttl, store::ConnectionSettings connection,
                core::Clock& clock, std::function<void()> on_change);
    /// Gives the lease back.
    ~LeaseKeeper();
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;

    struct Held {
        std::int64_t fence = 0;  ///< 0 = not held.
        core::SteadyTime valid_until{};
        std::string trouble;  ///< Why not.

        [[nodiscard]] bool is_valid(core::SteadyTime now) const { return fence != 0 && now < valid_until; }
    };
    [[nodiscard]] Held held() const;
    [[nodiscard]] const std::string& process() const { return process_; }

private:
    void keep(const std::stop_token& stop);
    void note(const Held& held);

    const std::string name_;
    const std::string process_;
    const std::chrono::milliseconds ttl_;
    const store::ConnectionSettings connection_;
    core::Clock& clock_;
    const std::function<void()> on_change_;
    core::Guarded<Held> held_;
    std::jthread thread_;
};

}  // namespace ftlfeed::deliver
