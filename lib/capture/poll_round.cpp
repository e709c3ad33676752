#include "capture/poll_round.hpp"

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/metrics.hpp>

#include "capture/sql_text.hpp"

namespace ftlfeed::capture {
namespace {

constexpr std::size_t kRejectedMax = 10'000;
constexpr int kByIdShiftMax = 16;

struct Meters {
    core::Counter polls = core::counter("ftl_capture_polls_total", "In-play answers read.");
    core::Counter stored = core::counter("ftl_capture_fixtures_stored_total", "Fixture transactions committed.");
    core::Counter failed = core::counter("ftl_capture_fixtures_failed_total", "Fixtures that could not be stored.");
    core::Counter events = core::counter("ftl_capture_events_total", "Events stored for the first time.");
    core::Counter revisions = core::counter("ftl_capture_revisions_total", "Corrections of stored events.");
    core::Counter withdrawals = core::counter("ftl_capture_withdrawals_total", "Events that the provider took back.");
    core::Counter entries = core::counter("ftl_capture_ledger_entries_total", "Entries of the bump ledger.");
    core::Counter quarantined = core::counter("ftl_capture_quarantined_total", "Payloads put into quarantine.");
};

Meters& meters() {
    static Meters all;
    return all;
}

}  // namespace

PollReport Poller::Round::run() {
    const bool had_to_look = poller_.must_look_;
    const auto ticket = draw_ticket(session_);
    const auto answer = poller_.provider_.in_play();
    meters().polls.increment();
    for (const auto& fixture : answer.fixtures) view_.in_list.insert(fixture.id);
    store_all(answer, {ticket, Source::kLive, false, answer.provider_time});
    if (!poller_.season_due_ || poller_.clock_.steady_now() >= *poller_.season_due_) read_season();
    view_.must_look = had_to_look || has_failed_;
    read_by_id();
    poller_.must_look_ = has_failed_;
    return report_;
}

/// The one SELECT of a poll: our seasons, the fixtures of the answer, and all that are under way or should be.
void Poller::Round::load_stored(const ProviderAnswer& answer) {
    if (answer.provider_time) poller_.provider_time_ = answer.provider_time;
    view_.provider_time = poller_.provider_time_;
    std::set<std::int64_t> asked = poller_.listed_;
    for (const auto& fixture : answer.fixtures) asked.insert(fixture.id);
    const auto now = view_.provider_time ? std::to_string(view_.provider_time->time_since_epoch().count()) : "";
    std::set<std::int64_t> seasons;
    session_.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(
            R"(WITH now AS (SELECT to_timestamp(nullif($3, '')::bigint) AS at)
               SELECT provider_season_id, NULL::bigint, false, false, NULL::bigint, false FROM event WHERE provider = $1
               UNION ALL
               SELECT f.provider_id, f.row_version, f.is_terminal AND coalesce(f.over_at <= now.at, true), f.has_started,
                      extract(epoch FROM f.kickoff)::bigint, f.has_open_questions
               FROM now CROSS JOIN LATERAL (
                   SELECT * FROM fixture WHERE provider = $1 AND NOT is_terminal AND (has_started OR kickoff <= now.at)
                   UNION ALL SELECT * FROM fixture WHERE provider = $1 AND over_at > now.at
                   UNION ALL SELECT * FROM fixture WHERE provider = $1 AND has_open_questions
                   UNION ALL SELECT w.* FROM unnest($2::bigint[]) AS ids(id)
                             CROSS JOIN LATERAL (SELECT * FROM fixture WHERE provider = $1 AND provider_id = ids.id LIMIT 1) w) f)",
            poller_.provider_.name(), bigint_array({asked.begin(), asked.end()}), now);
        for (const auto& row : rows) {
            const auto id = row[0].as<std::int64_t>();
            if (row[1].is_null()) {
                seasons.insert(id);
                continue;
            }
            StoredFixture stored{row[1].as<std::int64_t>(), row[2].as<bool>(), row[3].as<bool>(), std::nullopt,
                                 row[5].as<bool>()};
            if (!row[4].is_null()) {
                stored.kickoff = std::chrono::sys_seconds(std::chrono::seconds(row[4].as<std::int64_t>()));
            }
            view_.stored[id] = stored;
        }
    });
    if (seasons != poller_.seasons_) poller_.season_due_.reset();  // Another event: its season is read now.
    poller_.seasons_ = std::move(seasons);
}

void Poller::Round::store_all(const ProviderAnswer& answer, const Asked& asked) {
    load_stored(answer);
    for (const auto& fixture : answer.fixtures) {
        if (!poller_.seasons_.contains(fixture.season_id)) continue;
        ++report_.fixtures_seen;
        if (is_remembered(fixture, digest(fixture))) {
            ++report_.fixtures_skipped;
            view_.confirmed.insert(fixture.id);
            continue;
        }
        store_one(fixture, asked);
    }
    for (const auto& fixture : answer.rejected) keep_rejected(fixture);
}

bool Poller::Round::is_remembered(const FixtureSnapshot& fixture, const std::vector<std::uint8_t>& digest) const {
    const auto remembered = poller_.memory_.find(fixture.id);
    if (remembered == poller_.memory_.end() || remembered->second.digest != digest) return false;
    const auto stored = view_.stored.find(fixture.id);
    return stored != view_.stored.end() && stored->second.row_version == remembered->second.row_version;
}

void Poller::Round::store_one(const FixtureSnapshot& fixture, const Asked& asked) {
    poller_.memory_.erase(fixture.id);
    StoreResult result;
    try {
        result = poller_.ingest_.store(session_, fixture, asked);
    } catch (const core::Failure& failure) {
        if (session_.is_broken()) throw;
        return fixture_failed(fixture.id, failure.what());
    } catch (const core::InvalidInput& invalid) {
        return fixture_failed(fixture.id, invalid.what());
    }
    if (result.outcome == StoreResult::Outcome::kUnmapped) return;
    ++report_.fixtures_stored;
    report_.events_new += result.events_new;
    meters().stored.increment();
    meters().events.increment(result.events_new);
    meters().revisions.increment(result.revisions);
    meters().withdrawals.increment(result.withdrawals);
    meters().entries.increment(result.ledger_entries);
    meters().quarantined.increment(result.quarantined);
    fixture_recovered(fixture.id);
    view_.confirmed.insert(fixture.id);
    auto& stored = view_.stored[fixture.id];
    stored = {result.row_version, result.is_over, fixture.has_started, fixture.kickoff, result.has_open_questions};
    if (result.is_over) {
        poller_.listed_.erase(fixture.id);
        poller_.by_id_.erase(fixture.id);
    } else if (view_.in_list.contains(fixture.id)) {
        poller_.listed_.insert(fixture.id);
        poller_.by_id_.erase(fixture.id);
    }
    // What is looked at with every answer need not be remembered.
    const bool is_quiet_time = result.is_terminal && !result.is_over;
    if (!result.is_incomplete && !result.has_open_questions && !is_quiet_time)
        poller_.memory_[fixture.id] = {digest(fixture), result.row_version};
}

void Poller::Round::fixture_failed(std::int64_t id, const std::string& reason) {
    has_failed_ = true;
    poller_.failing_.insert(id);
    ++report_.fixtures_failed;
    meters().failed.increment();
    core::log_error("capture.fixture_failed", {{"fixture", id}, {"reason", reason}});
    session_.write([&](pqxx::transaction_base& tx) {
        alert::raise(tx, {kFixtureFailingAlert, poller_.provider_.name() + "/" + std::to_string(id),
                          alert::Severity::kCritical, "the fixture could not be stored: " + reason});
    });
}

void Poller::Round::fixture_recovered(std::int64_t id) {
    if (poller_.failing_.erase(id) == 0) return;
    session_.write([&](pqxx::transaction_base& tx) {
        alert::clear(tx, kFixtureFailingAlert, poller_.provider_.name() + "/" + std::to_string(id));
    });
}

void Poller::Round::keep_rejected(const RejectedFixture& fixture) {
    if (poller_.rejected_.size() >= kRejectedMax) poller_.rejected_.clear();
    if (!poller_.rejected_.insert(core::sha256_hex(fixture.raw)).second) return;
    if (!poller_.ingest_.quarantine(session_, fixture)) return;
    meters().quarantined.increment();
    core::log_warning("capture.fixture_rejected", {{"fixture", fixture.id.value_or(0)}, {"reason", fixture.reason}});
}

void Poller::Round::read_season() {
    if (poller_.seasons_.empty()) return;  // Looked at again with the next poll.
    if (!poller_.provider_time_) {
        core::log_warning("capture.no_provider_time", {{"effect", "the season's fixtures cannot be asked for"}});
        poller_.season_due_ = poller_.clock_.steady_now() + poller_.settings_.season_interval;
        return;
    }
    const auto& settings = poller_.settings_;
    const std::vector<std::int64_t> seasons(poller_.seasons_.begin(), poller_.seasons_.end());
    for (const auto& [first, last] :
         season_windows(*poller_.provider_time_, settings.season_days_back, settings.season_days_ahead)) {
        const auto ticket = draw_ticket(session_);
        ProviderAnswer answer;
        try {
            answer = poller_.provider_.fixtures_between(first, last, seasons);
        } catch (const core::Failure& failure) {
            // The in-play list goes on without it: it is asked for again soon.
            core::log_warning("capture.season_failed", {{"reason", failure.what()}});
            poller_.season_due_ = poller_.clock_.steady_now() + failure.retry_after().value_or(settings.failure_max);
            return;
        }
        store_all(answer, {ticket, Source::kBackfill, false, answer.provider_time});
    }
    for (auto& [id, pace] : poller_.by_id_) pace.is_gone = false;
    poller_.season_due_ = poller_.clock_.steady_now() + settings.season_interval;
    report_.has_read_season = true;
}

void Poller::Round::read_by_id() {
    view_.listed = poller_.listed_;
    for (const auto id : fixtures_to_read(view_)) {
        auto& pace = poller_.by_id_[id];
        if (pace.is_gone || poller_.clock_.steady_now() < pace.next_at) continue;
        const auto shift = std::min(pace.attempts, kByIdShiftMax);
        const auto pause = std::min(poller_.settings_.by_id_max, poller_.settings_.by_id_first * (1 << shift));
        ++pace.attempts;
        pace.next_at = poller_.clock_.steady_now() + pause;
        if (!read_one(id, pace)) return;
    }
}

/// Returns false when the provider wants no more requests now.
bool Poller::Round::read_one(std::int64_t id, ByIdPace& pace) {
    const auto ticket = draw_ticket(session_);
    ProviderAnswer answer;
    try {
        answer = poller_.provider_.fixture(id);
    } catch (const core::Failure& failure) {
        core::log_warning("capture.read_by_id_failed", {{"fixture", id}, {"reason", failure.what()}});
        if (failure.retry_after()) pace.next_at = poller_.clock_.steady_now() + *failure.retry_after();
        return !failure.retry_after();
    }
    ++report_.read_by_id;
    if (answer.fixtures.empty() && answer.rejected.empty()) {
        // Gone for good, or not in the plan: the season's next answer may tell more (B35).
        core::log_warning("capture.fixture_not_found", {{"fixture", id}});
        pace.is_gone = true;
        return true;
    }
    for (const auto& rejected : answer.rejected) keep_rejected(rejected);
    if (!answer.fixtures.empty())
        store_one(answer.fixtures.front(), {ticket, Source::kLive, true, answer.provider_time});
    return true;
}

}  // namespace ftlfeed::capture
