#include <ftlfeed/build/feed_builder.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <pqxx/transaction_base>
#include <utility>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/metrics.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/lease.hpp>

#include "build/claim.hpp"
#include "build/enumeration.hpp"
#include "build/file_build.hpp"

namespace ftlfeed::build {

using core::Failure;

namespace {

constexpr const char* kAlertKind = "build.failing";
constexpr std::size_t kBusyFilesMax = 64;

/// Names a builder among all builders of all processes.
std::string builder_identity() {
    static const std::string kProcess = store::process_identity();
    static std::atomic<int> count{0};
    return kProcess + '/' + std::to_string(++count);
}

const char* name_of(BuildResult result) {
    switch (result) {
        case BuildResult::kChanged:
            return "changed";
        case BuildResult::kUnchanged:
            return "unchanged";
        case BuildResult::kRetired:
            return "retired";
        case BuildResult::kEnumerated:
            return "enumerated";
        case BuildResult::kFailed:
            return "failed";
        case BuildResult::kNothingDue:
            break;
    }
    return "nothing";
}

void count_build(const BuildOutcome& outcome, core::SteadyTime began) {
    static const std::vector<double> kBounds{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};
    static auto seconds = core::histogram("ftl_build_seconds", "From the claim to the end of a build", kBounds);
    seconds.observe(std::chrono::duration<double>(core::Clock::real().steady_now() - began).count());
    core::counter("ftl_build_builds_total", "Builds by how they ended", {{"result", name_of(outcome.result)}})
        .increment();
}

/// Gives every advisory lock back, whatever happens: a session that goes on holding a file's lock would stop its builds.
class LockScope {
public:
    explicit LockScope(store::Session& session) : session_(session) {}
    ~LockScope() {
        if (may_hold_) session_.unlock_all();
    }
    void nothing_taken() { may_hold_ = false; }
    LockScope(const LockScope&) = delete;
    LockScope& operator=(const LockScope&) = delete;

private:
    store::Session& session_;
    bool may_hold_ = true;
};

BuildOutcome build_claimed(store::Session& session, const Claim& claim, const ResolverRegistry& resolvers,
                           const BuildObserver& observer, std::string& snapshot) {
    const auto key = parse_marked_key(claim.doc_key);
    if (key.is_enumeration) return enumerate_files(session, claim, key, resolvers, observer, snapshot);
    return build_file(session, claim, core::FeedKey(key.event, key.feed_type, key.filter), resolvers, observer,
                      snapshot);
}

void clear_alert(store::Session& session, const Claim& claim) {
    if (claim.failures == 0) return;
    session.write([&](pqxx::transaction_base& tx) { alert::clear(tx, kAlertKind, claim.doc_key); });
    core::log_info("build.recovered", {{"file", claim.doc_key}, {"failures", claim.failures}});
}

}  // namespace

std::chrono::milliseconds build_retry_delay(int failures, const BuildSettings& settings, double jitter) {
    const int doublings = std::clamp(failures - 1, 0, 20);
    const auto ceiling = std::min(settings.retry_max, settings.retry_first * (1 << doublings));
    return ceiling / 2 + std::chrono::milliseconds(std::llround(static_cast<double>(ceiling.count()) / 2 * jitter));
}

FeedBuilder::FeedBuilder(store::Session& session, std::shared_ptr<const ResolverRegistry> resolvers,
                         BuildSettings settings, BuildObserver observer)
    : session_(session),
      resolvers_(std::move(resolvers)),
      settings_(settings),
      observer_(std::move(observer)),
      identity_(builder_identity()) {
    (void)store::check_epoch(session_);
}

BuildOutcome FeedBuilder::build_next() {
    busy_.clear();
    LockScope locks(session_);
    // Each round finds one more file that somebody else is building, so this ends.
    while (busy_.size() < kBusyFilesMax) {
        const auto began = core::Clock::real().steady_now();
        auto attempt = try_claim(session_, identity_, busy_);
        if (!attempt.busy_doc_key.empty()) {
            busy_.push_back(std::move(attempt.busy_doc_key));
            continue;
        }
        if (!attempt.claim) break;
        core::durable_step("build.claimed");
        if (observer_) observer_(BuildStep::kClaimed, attempt.claim->doc_key);
        auto outcome = run(*attempt.claim);
        count_build(outcome, began);
        return outcome;
    }
    locks.nothing_taken();
    return {};
}

BuildOutcome FeedBuilder::run(const Claim& claim) {
    try {
        std::string snapshot;
        auto outcome = build_claimed(session_, claim, *resolvers_, observer_, snapshot);
        finish_claim(session_, claim, identity_, snapshot);
        core::durable_step("build.finished");
        clear_alert(session_, claim);
        return outcome;
    } catch (const Failure& failure) {
        // A lost connection says nothing about the file; whoever claims it next builds it.
        if (failure.connection_lost() || session_.is_broken()) throw failure.within("build " + claim.doc_key);
        return record_failure(claim, failure.what());
    } catch (const core::InvalidInput& error) {
        return record_failure(claim, error.what());
    }
}

BuildOutcome FeedBuilder::record_failure(const Claim& claim, const std::string& error) {
    const int failures = claim.failures + 1;
    const auto delay = build_retry_delay(failures, settings_, jitter_());
    session_.write([&](pqxx::transaction_base& tx) {
        fail_claim(tx, claim, identity_, error, delay);
        if (failures >= settings_.alert_failures) {
            alert::raise(tx, {kAlertKind, claim.doc_key, alert::Severity::kWarning,
                              "failed " + std::to_string(failures) + " times in a row: " + error});
        }
    });
    core::log_warning("build.failed", {{"file", claim.doc_key}, {"failures", failures}, {"error", error}});
    return {BuildResult::kFailed, claim.doc_key, {}, error};
}

std::optional<std::chrono::milliseconds> FeedBuilder::next_due_in() { return time_to_next_due(session_); }

}  // namespace ftlfeed::build
