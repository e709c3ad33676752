#include <ftlfeed/outbox/read_loop.hpp>

#include <utility>

#include <ftlfeed/core/backoff.hpp>

namespace ftlfeed::outbox {

ReadLoop::ReadLoop(Settings settings, Reader::Apply apply, core::Clock& clock)
    : settings_(std::move(settings)), apply_(std::move(apply)), clock_(clock) {}

void ReadLoop::run(const std::stop_token& stop) {
    store::WakeUp wake;
    // The listener wakes us once after each of its connects: whatever was notified before it listened is read then.
    const store::Listener listener(
        settings_.connection, {kChannel}, [&wake] { wake.signal(); }, settings_.listener);
    core::Jitter jitter;
    while (!stop.stop_requested()) {
        try {
            read_until_broken(wake, stop);
        } catch (const core::Failure& failure) {
            if (!failure.may_retry()) throw;
            if (failed_) failed_(failure);
            ++failures_;
            clock_.sleep_for(core::full_jitter(failures_, settings_.retry_first, settings_.retry_max, jitter()), stop);
        }
    }
}

void ReadLoop::read_until_broken(store::WakeUp& wake, const std::stop_token& stop) {
    store::Session session(settings_.connection);
    Reader reader(session, settings_.consumer, settings_.reader);
    bool was_notified = false;
    while (!stop.stop_requested()) {
        const auto rows = reader.read_page(apply_, was_notified);
        failures_ = 0;
        if (rows > 0 && observer_) observer_(rows);
        // A page that is not full is the last; whatever is committed after it has a notification of its own.
        const bool is_last = rows < settings_.reader.page_rows_max;
        was_notified = is_last && wake.wait_for(settings_.poll_interval, stop);
    }
}

}  // namespace ftlfeed::outbox
