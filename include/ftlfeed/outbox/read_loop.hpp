#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/listener.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::outbox {

/// The channel that ftl_touch() notifies. A hint: constant payload, and writers that are prepared send none.
inline constexpr const char* kChannel = "ftl_outbox";

/// Reads for one consumer until it is stopped: LISTEN first, then a full read, then wait for a notification or the poll
/// (R9). It has a session of its own, and makes a new one after each break.
/// Threads: run() is confined to one thread; it starts one more for its listener.
class ReadLoop {
public:
    struct Settings {
        store::ConnectionSettings connection;
        std::string consumer;
        Reader::Options reader;
        std::chrono::milliseconds poll_interval{500};
        std::chrono::milliseconds retry_first{100};  ///< Back-off after a break, with full jitter.
        std::chrono::milliseconds retry_max{5000};
        store::Listener::Options listener;
    };
    ReadLoop(Settings settings, Reader::Apply apply, core::Clock& clock = core::Clock::real());

    /// Called, when set, after each page that was committed, with its rows: to wake those who work on its effects.
    void on_page(std::function<void(std::size_t rows)> observer) { observer_ = std::move(observer); }
    /// Called, when set, at each failure that is tried again: for a log line and a readiness page.
    void on_failure(std::function<void(const core::Failure& failure)> observer) { failed_ = std::move(observer); }

    /// Returns when stop is asked. Throws what trying again cannot help: a Failure that may not be retried (a cursor of
    /// another cluster), and whatever `apply` throws that is no Failure.
    void run(const std::stop_token& stop);

private:
    void read_until_broken(store::WakeUp& wake, const std::stop_token& stop);

    Settings settings_;
    Reader::Apply apply_;
    core::Clock& clock_;
    std::function<void(std::size_t)> observer_;
    std::function<void(const core::Failure&)> failed_;
    int failures_ = 0;
};

}  // namespace ftlfeed::outbox
