#include <ftlfeed/build/audit.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>
#include <utility>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/value.hpp>

#include "build/claim.hpp"
#include "build/file_build.hpp"

namespace ftlfeed::build {

using core::Failure;

namespace {

constexpr const char* kAlertKind = "build.missing_touch";

/// $1 = ms. The stamp moves at once, so that a file that cannot be audited does not stand before all others.
constexpr const char* kTakeOldest = R"(
UPDATE feed_document SET audited_at = clock_timestamp() WHERE doc_key = (
    SELECT d.doc_key FROM feed_document d
     WHERE d.retired_at IS NULL AND d.audited_at <= clock_timestamp() - $1::bigint * interval '1 ms'
       AND NOT EXISTS (SELECT FROM feed_dirty f WHERE f.doc_key = d.doc_key)
     ORDER BY d.audited_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING doc_key)";

/// $1 = doc_key, $2 = the audit's snapshot. Is there a mark, or a touch that the snapshot has seen and no reader has
/// marked yet? Mark and cursor are of one snapshot here, so a touch is either read and marked, or found in the outbox.
constexpr const char* kIsExplained = R"(
SELECT EXISTS (SELECT FROM feed_dirty WHERE doc_key = $1)
    OR EXISTS (SELECT FROM outbox_cursor c, outbox o
                 JOIN feed_dependency d ON d.record_kind = o.record_kind AND d.record_id = o.record_id
                WHERE c.consumer = 'build' AND d.doc_key = $1 AND NOT pg_visible_in_snapshot(o.txid, c.snap)
                  AND pg_visible_in_snapshot(o.txid, $2::pg_snapshot)))";

bool has_changed(store::Session& session, const core::FeedKey& key, const ResolverRegistry& resolvers,
                 std::string& snapshot) {
    bool is_other = false;
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        const auto state = load_file_state(tx, key);
        snapshot = state.snapshot;
        if (!state.is_wanted() || !state.is_built || state.is_retired) return;
        is_other = raw_bytes(resolve_file(tx, key, *state.definition, resolvers).hash) != state.content_hash;
    });
    return is_other;
}

/// Raises the alert and marks the file, unless a touch explains the difference.
bool report_missing_touch(store::Session& session, const core::FeedKey& key, const std::string& snapshot) {
    bool is_missing = false;
    session.write([&](pqxx::transaction_base& tx) {
        is_missing = !tx.exec_params(kIsExplained, key.doc_key(), snapshot)[0][0].as<bool>();
        if (!is_missing) return;
        mark_files(tx, {key}, "audit");
        alert::raise(tx, {kAlertKind, key.doc_key(), alert::Severity::kCritical,
                          "the file's content changed and no touch said so: a writer forgot ftl_touch(), or the "
                          "definition leaves a record out of its deps"});
    });
    return is_missing;
}

}  // namespace

Auditor::Auditor(store::Session& session, std::shared_ptr<const ResolverRegistry> resolvers)
    : session_(session), resolvers_(std::move(resolvers)) {
    (void)store::check_epoch(session_);
}

AuditOutcome Auditor::audit_next(std::chrono::milliseconds interval) {
    AuditOutcome outcome;
    session_.write([&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec_params(kTakeOldest, interval.count());
        if (!rows.empty()) outcome.doc_key = rows[0][0].as<std::string>();
    });
    if (outcome.doc_key.empty()) return outcome;
    outcome.result = AuditResult::kSkipped;
    const FileLock lock(session_, outcome.doc_key);
    if (!lock.is_held()) return outcome;
    try {
        const auto key = core::FeedKey::parse(outcome.doc_key);
        std::string snapshot;
        const bool is_other = has_changed(session_, key, *resolvers_, snapshot);
        const bool is_missing = is_other && report_missing_touch(session_, key, snapshot);
        outcome.result = is_missing ? AuditResult::kMissingTouch : AuditResult::kProven;
        if (is_missing) return outcome;
        session_.write([&](pqxx::transaction_base& tx) { alert::clear(tx, kAlertKind, outcome.doc_key); });
    } catch (const Failure& failure) {
        if (failure.connection_lost() || session_.is_broken()) throw failure.within("audit " + outcome.doc_key);
        core::log_warning("build.audit_failed", {{"file", outcome.doc_key}, {"error", failure.what()}});
    }
    return outcome;
}

}  // namespace ftlfeed::build
