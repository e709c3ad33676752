#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "common/sd_notify.hpp"

namespace ftlfeed::app {

/// Keeps SIGTERM, SIGINT and SIGHUP from every thread that is started after it, and SIGPIPE from all. Called first in
/// main: a thread that already runs would still be hit.
void block_signals();

/// Receives the blocked signals on a thread of its own. SIGTERM and SIGINT ask `stop`; the second SIGINT ends the process
/// at once, for a person who will not wait. SIGHUP calls `on_hangup` on that thread. It also keeps systemd's watchdog calm.
class SignalWatch {
public:
    SignalWatch(std::stop_source stop, std::function<void()> on_hangup, SystemdNotifier notifier);
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::app
