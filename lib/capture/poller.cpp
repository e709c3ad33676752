#include <ftlfeed/capture/poller.hpp>

#include <algorithm>
#include <charconv>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "capture/poll_round.hpp"

namespace ftlfeed::capture {
namespace {

constexpr const char* kAlertFailing = "capture.provider_failing";
constexpr std::chrono::seconds kFailureLogInterval{30};

/// An earlier process may have raised alerts that this one has to end.
std::set<std::int64_t> fixtures_with_alert(store::Session& session, const std::string& provider) {
    std::set<std::int64_t> ids;
    const auto prefix = provider + "/";
    for (const auto& open : alert::open_alerts(session)) {
        if (open.kind != kFixtureFailingAlert || !open.subject.starts_with(prefix)) continue;
        std::int64_t id = 0;
        const auto text = open.subject.substr(prefix.size());
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), id);
        if (parsed.ec == std::errc{}) ids.insert(id);
    }
    return ids;
}

}  // namespace

Poller::Poller(Provider& provider, Ingest ingest, LeaseProbe lease, PollerSettings settings, core::Clock& clock)
    : provider_(provider), ingest_(std::move(ingest)), lease_(std::move(lease)), settings_(settings), clock_(clock) {}
Poller::~Poller() = default;

PollerStatus Poller::status() const {
    return status_.with([](const PollerStatus& status) { return status; });
}

/// What was remembered is worth something only while no other process can have been at work.
void Poller::follow_lease(const store::LeaseState& lease, store::Session& session) {
    if (lease.is_valid && lease.generation == generation_) return;
    failing_.clear();
    if (lease.is_valid) failing_ = fixtures_with_alert(session, provider_.name());
    memory_.clear();
    listed_.clear();
    by_id_.clear();
    season_due_.reset();
    must_look_ = true;
    generation_ = lease.generation;
}

PollReport Poller::poll(store::Session& session) {
    const auto lease = lease_();
    follow_lease(lease, session);
    status_.with([&](PollerStatus& status) { status.is_standby = !lease.is_valid; });
    if (!lease.is_valid) {
        PollReport report;
        report.is_standby = true;
        return report;
    }
    return Round(*this, session).run();
}

void Poller::note_success(store::Session& session) {
    status_.with([](PollerStatus& status) {
        status.failures = 0;
        status.last_failure.clear();
        ++status.polls;
    });
    if (!has_alert_) return;
    session.write([&](pqxx::transaction_base& tx) { alert::clear(tx, kAlertFailing, provider_.name()); });
    has_alert_ = false;
}

core::SteadyTime Poller::note_failure(const std::string& what, std::optional<std::chrono::milliseconds> wish,
                                      store::Session* session) {
    const auto now = clock_.steady_now();
    bool is_same = false;
    const auto failures = status_.with([&](PollerStatus& status) {
        is_same = status.last_failure == what;
        status.last_failure = what;
        return ++status.failures;
    });
    // Servers that are not up: one line, then one from time to time.
    if (!is_same || now >= failure_logged_at_ + kFailureLogInterval) {
        core::log_warning("capture.poll_failed", {{"reason", what}, {"failures", failures}});
        failure_logged_at_ = now;
    }
    if (failures >= settings_.alert_failures && session && !session->is_broken()) {
        has_alert_ = true;
        try {
            session->write([&](pqxx::transaction_base& tx) {
                alert::raise(tx, {kAlertFailing, provider_.name(), alert::Severity::kCritical,
                                  std::to_string(failures) + " polls in a row failed: " + what});
            });
        } catch (const core::Failure& failure) {
            core::log_warning("capture.alert_not_raised", {{"reason", failure.what()}});  // With the next failure.
        }
    }
    if (wish) return now + *wish;
    return now + core::full_jitter(failures, settings_.failure_first, settings_.failure_max, jitter_());
}

void Poller::run(const std::function<store::Session()>& connect,
                 const std::function<void(const PollerStatus&)>& on_poll, const std::stop_token& stop) {
    std::unique_ptr<store::Session> session;
    while (!stop.stop_requested()) {
        auto next = clock_.steady_now() + settings_.poll_interval;
        try {
            if (!session) session = std::make_unique<store::Session>(connect());
            if (poll(*session).is_standby) {
                next = clock_.steady_now() + settings_.standby_interval;
            } else {
                note_success(*session);
            }
        } catch (const core::Failure& failure) {
            next = std::max(next, note_failure(failure.what(), failure.retry_after(), session.get()));
            // What was being committed is not known to be there: look.
            must_look_ = true;
            if (session && session->is_broken()) session.reset();
        }
        on_poll(status());
        clock_.sleep_until(next, stop);
    }
}

}  // namespace ftlfeed::capture
