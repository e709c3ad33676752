#include <algorithm>
#include <utility>

#include <ftlfeed/build/audit.hpp>
#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/build/worker.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/outbox/read_loop.hpp>

namespace ftlfeed::build {

namespace {

/// Runs `work` again and again, with back-off after failures that may pass, until stop is asked. `work` sets
/// `failures` to 0 when it has got somewhere.
template <typename Work>
void run_with_retries(const WorkerSettings& settings, core::Clock& clock, const FailureObserver& failed, int& failures,
                      const std::stop_token& stop, Work&& work) {
    core::Jitter jitter;
    while (!stop.stop_requested()) {
        try {
            work();
        } catch (const core::Failure& failure) {
            if (!failure.may_retry()) throw;
            if (failed) failed(failure);
            ++failures;
            clock.sleep_for(core::full_jitter(failures, settings.retry_first, settings.retry_max, jitter()), stop);
        }
    }
}

}  // namespace

MarkLoop::MarkLoop(WorkerSettings settings, store::WakeUp& dirty, core::Clock& clock)
    : settings_(std::move(settings)), dirty_(dirty), clock_(clock) {}

void MarkLoop::run(const std::stop_token& stop) {
    outbox::ReadLoop::Settings settings;
    settings.connection = settings_.connection;
    settings.consumer = kConsumer;
    // A mark leads outside only by a version, whose commit waits for the disk, and so for the page before it.
    settings.reader.waits_for_disk = false;
    settings.poll_interval = settings_.poll_interval;
    settings.retry_first = settings_.retry_first;
    settings.retry_max = settings_.retry_max;
    outbox::ReadLoop loop(std::move(settings), mark, clock_);
    loop.on_page([this](std::size_t) { dirty_.signal(); });
    loop.on_failure([this](const core::Failure& failure) {
        if (failed_) failed_(failure);
    });
    loop.run(stop);
}

BuildLoop::BuildLoop(WorkerSettings settings, std::shared_ptr<const ResolverRegistry> resolvers, store::WakeUp& dirty,
                     core::Clock& clock)
    : settings_(std::move(settings)), resolvers_(std::move(resolvers)), dirty_(dirty), clock_(clock) {}

void BuildLoop::run(const std::stop_token& stop) {
    run_with_retries(settings_, clock_, failed_, failures_, stop, [&] { build_until_broken(stop); });
}

void BuildLoop::build_until_broken(const std::stop_token& stop) {
    store::Session session(settings_.connection);
    // One signal wakes one builder: whoever has found work passes the word on, in case there is more.
    FeedBuilder builder(session, resolvers_, settings_.build, [this](BuildStep step, const std::string&) {
        if (step == BuildStep::kClaimed) dirty_.signal();
        if (step == BuildStep::kCommitted && committed_) committed_();
    });
    while (!stop.stop_requested()) {
        const auto outcome = builder.build_next();
        failures_ = 0;
        if (outcome.result != BuildResult::kNothingDue) {
            if (built_) built_(outcome);
            continue;
        }
        auto wait = settings_.poll_interval;
        if (builder.busy_files() > 0) {
            wait = std::min(wait, settings_.busy_interval);
        } else if (const auto due_in = builder.next_due_in()) {
            wait = std::min(wait, std::max(*due_in, std::chrono::milliseconds(1)));
        }
        dirty_.wait_for(wait, stop);
    }
}

AuditLoop::AuditLoop(WorkerSettings settings, std::shared_ptr<const ResolverRegistry> resolvers, core::Clock& clock)
    : settings_(std::move(settings)), resolvers_(std::move(resolvers)), clock_(clock) {}

void AuditLoop::run(const std::stop_token& stop) {
    run_with_retries(settings_, clock_, failed_, failures_, stop, [&] { audit_until_broken(stop); });
}

void AuditLoop::audit_until_broken(const std::stop_token& stop) {
    store::Session session(settings_.connection);
    Auditor auditor(session, resolvers_);
    while (!stop.stop_requested()) {
        auditor.audit_next(settings_.audit_interval);
        failures_ = 0;
        clock_.sleep_for(settings_.audit_pause, stop);
    }
}

}  // namespace ftlfeed::build
