#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace ftlfeed::app {

/// Tells systemd how the service stands. Source: sd_notify(3), sd_watchdog_enabled(3). Does nothing outside systemd.
/// Threads: thread-safe; immutable.
class SystemdNotifier {
public:
    /// Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID of `environment`.
    explicit SystemdNotifier(const std::map<std::string, std::string>& environment);

    /// Sends one datagram, such as "READY=1". A supervisor that does not listen is no reason to fail.
    void send(const std::string& state) const noexcept;
    /// Half of what systemd waits before it takes the service for hung; nothing when it does not watch.
    [[nodiscard]] std::optional<std::chrono::milliseconds> watchdog_interval() const { return watchdog_interval_; }

private:
    std::string socket_;
    std::optional<std::chrono::milliseconds> watchdog_interval_;
};

}  // namespace ftlfeed::app
