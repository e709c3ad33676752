#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::store {

/// Waits for NOTIFY on some channels, on a connection and a thread of its own. A hint, never the truth: poll all the
/// same. It pings itself every `ping_interval`; a ping that does not come back means a dead connection, and it
/// reconnects (with back-off). After every connect `on_wake` is called once, since what was sent meanwhile is lost.
/// Threads: `on_wake` is called on the listener's thread, must be short and must not throw.
class Listener {
public:
    struct Options {
        std::chrono::milliseconds ping_interval{5000};
        std::chrono::milliseconds reconnect_first{200};
        std::chrono::milliseconds reconnect_max{5000};
    };
    Listener(ConnectionSettings settings, std::vector<std::string> channels, std::function<void()> on_wake,
             Options options);
    Listener(ConnectionSettings settings, std::vector<std::string> channels, std::function<void()> on_wake);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    [[nodiscard]] bool is_connected() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// A flag that threads wait for: the meeting point of "somebody notified" and "the poll interval is over". Of several
/// that wait, one signal wakes one.
/// Threads: thread-safe.
class WakeUp {
public:
    WakeUp();
    ~WakeUp();
    void signal();
    /// Blocks until signal() since the last wait, `limit`, or stop. Returns whether it was signalled.
    bool wait_for(std::chrono::milliseconds limit, const std::stop_token& stop);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ftlfeed::store
