#include "common/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <utility>

#include <ftlfeed/core/log.hpp>

namespace ftlfeed::app {

namespace {

constexpr int kExitBySignal = 128;

sigset_t watched_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, number);
    return set;
}

class Handle {
public:
    Handle(int handle, const char* what) : handle_(handle) {
        if (handle_ < 0) throw std::system_error(errno, std::generic_category(), what);
    }
    ~Handle() { close(handle_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    [[nodiscard]] int get() const { return handle_; }

private:
    int handle_;
};

int make_signal_handle() {
    const auto set = watched_signals();
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

void block_signals() {
    const auto set = watched_signals();
    const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr);
    if (error != 0) throw std::system_error(error, std::generic_category(), "pthread_sigmask");
    std::signal(SIGPIPE, SIG_IGN);
}

class SignalWatch::Impl {
public:
    Impl(std::stop_source stop, std::function<void()> on_hangup, SystemdNotifier notifier)
        : stop_(std::move(stop)),
          on_hangup_(std::move(on_hangup)),
          notifier_(std::move(notifier)),
          signals_(make_signal_handle(), "signalfd"),
          end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"),
          thread_([this](const std::stop_token& end) { run(end); }) {}

    ~Impl() {
        thread_.request_stop();
        eventfd_write(end_.get(), 1);
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

private:
    void run(const std::stop_token& end) {
        const auto interval = notifier_.watchdog_interval();
        const int timeout = interval ? static_cast<int>(interval->count()) : -1;
        while (!end.stop_requested()) {
            std::array<pollfd, 2> looks{pollfd{signals_.get(), POLLIN, 0}, pollfd{end_.get(), POLLIN, 0}};
            poll(looks.data(), looks.size(), timeout);
            if (interval) notifier_.send("WATCHDOG=1");
            signalfd_siginfo info{};
            while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
                act_on(static_cast<int>(info.ssi_signo));
            }
        }
    }

    void act_on(int number) {
        if (number == SIGHUP) {
            on_hangup_();
            return;
        }
        // A second SIGTERM may come from a script beside its supervisor; a second Ctrl-C is a person's.
        if (number == SIGINT && std::exchange(was_interrupted_, true)) std::_Exit(kExitBySignal + SIGINT);
        if (stop_.stop_requested()) return;
        core::log_info("app.stop_asked", {{"signal", number}});
        stop_.request_stop();
    }

    std::stop_source stop_;
    std::function<void()> on_hangup_;
    SystemdNotifier notifier_;
    bool was_interrupted_ = false;
    Handle signals_;
    Handle end_;
    std::jthread thread_;  // Last: it uses all the others.
};

SignalWatch::SignalWatch(std::stop_source stop, std::function<void()> on_hangup, SystemdNotifier notifier)
    : impl_(std::make_unique<Impl>(std::move(stop), std::move(on_hangup), std::move(notifier))) {}

SignalWatch::~SignalWatch() = default;

}  // namespace ftlfeed::app
