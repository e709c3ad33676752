#include "build/claim.hpp"

#include <algorithm>
#include <pqxx/result>
#include <utility>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/store/value.hpp>

#include "store/planned.hpp"

namespace ftlfeed::build {

using core::Failure;

namespace {

constexpr std::size_t kErrorBytesMax = 1000;

/// First key of the advisory locks of files; the second is the hash of the doc_key. Files that share a hash wait for
/// each other, no more. ("FTLF")
constexpr const char* kLockClass = "1179929670";

/// $1 = identity, $2 = files to pass over.
/// - The due row is chosen under LIMIT 1 in a CTE of its own: pg_try_advisory_lock in its WHERE would lock rows that are
///   not returned.
/// - claim_xmin is a lower bound of the snapshot that the build takes after this statement, and of the cursor's.
/// - A claim that is found on the row is a dead builder's, since we hold the lock. The third in a row makes the file wait
///   in case this one dies too: a file whose build ends the process must not be all that anybody does.
/// - It need not be on disk before the next step: lost in a crash, it leads to one build more.
/// - The index gives the order; due rows are mostly the first ones. Of one touch's marks `TYPE/*` comes before the files:
///   one that has gone is then retired, and not tried in vain before.
const std::string kClaim = std::string(R"(
WITH due AS MATERIALIZED (
    SELECT d.doc_key
      FROM (SELECT clock_timestamp() AS at) now CROSS JOIN feed_dirty d
      LEFT JOIN feed_definition f ON f.feed_type = split_part(d.doc_key, '/', 2)
     WHERE d.doc_key <> ALL ($2::text[])
       AND ftl_due_at(d.first_touch, d.last_touch, d.not_before, coalesce(f.quiet_ms, 0), coalesce(f.quiet_ms_max, 0),
                      now.at) <= now.at
     ORDER BY d.first_touch, d.doc_key COLLATE "C" LIMIT 1 FOR UPDATE OF d SKIP LOCKED
), locked AS MATERIALIZED (
    SELECT doc_key, pg_try_advisory_lock()") +
                           kLockClass + R"(, hashtext(doc_key)) AS is_ours FROM due
), marked AS MATERIALIZED (
    SELECT snap FROM outbox_cursor WHERE consumer = 'build'
), claimed AS (
    UPDATE feed_dirty d
       SET claim_xmin = least(pg_snapshot_xmin(pg_current_snapshot()), (SELECT pg_snapshot_xmin(snap) FROM marked)),
           claimed_by = $1, first_since_claim = NULL, abandoned = CASE WHEN d.claim_xmin IS NULL THEN 0 ELSE d.abandoned + 1 END,
           not_before = CASE WHEN d.claim_xmin IS NOT NULL AND d.abandoned >= 2
                             THEN clock_timestamp() + least(60, 5 * power(2, least(d.abandoned, 10) - 2)) * interval '1 s'
                             ELSE d.not_before END
      FROM locked l WHERE d.doc_key = l.doc_key AND l.is_ours
    RETURNING d.doc_key, d.gen, d.first_touch, d.last_touch, d.failures
)
SELECT l.doc_key, l.is_ours, c.gen, c.first_touch, c.last_touch, c.failures, (SELECT snap::text FROM marked),
       set_config('synchronous_commit', 'off', true)
  FROM locked l LEFT JOIN claimed c USING (doc_key))";

/// $1 = doc_key, $2 = gen, $3 = the build's snapshot, $4 = identity, $5 = newest touch that the claim knew.
/// - It must be a statement of its own after the build's commit: it sees the new dependency rows, and any touch that it
///   does not see is committed later, so that its reader sees the new dependency rows too.
/// - `unseen`: touches that the build's snapshot could not see and that hit the new dependency rows. A reader may have
///   read them before those rows were there, and then nobody would come back. Two arms: `txid >= xmin` alone reads as
///   far back as the oldest open transaction.
/// - A mark that stays waits from the first touch since the claim: those before it are built, and a busy file would
///   else never be quiet again.
const std::string kFinish = std::string(R"(
WITH held AS MATERIALIZED (
    SELECT )") + holds_lock_sql() +
                            R"( AS is_ours
), unseen AS MATERIALIZED (
    SELECT min(created_at) AS oldest, max(created_at) AS newest FROM (
        SELECT o.created_at
          FROM outbox o JOIN feed_dependency d ON d.record_kind = o.record_kind AND d.record_id = o.record_id
         WHERE d.doc_key = $1 AND o.txid >= pg_snapshot_xmax($3::pg_snapshot)
        UNION ALL
        SELECT o.created_at
          FROM outbox o JOIN feed_dependency d ON d.record_kind = o.record_kind AND d.record_id = o.record_id
         WHERE d.doc_key = $1 AND o.txid = ANY (ARRAY(SELECT pg_snapshot_xip($3::pg_snapshot)))) o
), ended AS (
    DELETE FROM feed_dirty
     WHERE doc_key = $1 AND gen = $2::bigint AND (SELECT newest FROM unseen) IS NULL AND (SELECT is_ours FROM held)
    RETURNING 1
), kept AS (
    UPDATE feed_dirty d
       SET claim_xmin = NULL, claimed_by = NULL, abandoned = 0, failures = 0, last_error = NULL,
           first_since_claim = NULL,
           first_touch = coalesce(least(d.first_since_claim, (SELECT oldest FROM unseen)),
                                  greatest(d.first_touch, $5::timestamptz)),
           last_touch = greatest(d.last_touch, (SELECT newest FROM unseen)),
           not_before = least(d.not_before, clock_timestamp())
     WHERE d.doc_key = $1 AND d.claimed_by = $4 AND NOT EXISTS (SELECT FROM ended) AND (SELECT is_ours FROM held)
    RETURNING 1
)
SELECT (SELECT is_ours FROM held), EXISTS (SELECT FROM ended), EXISTS (SELECT FROM kept),
       set_config('synchronous_commit', 'off', true))";

/// $1 = doc_key, $2 = identity, $3 = error, $4 = delay in ms, $5 = failures that the claim knew. Whoever edits the
/// definition or asks for a rebuild sets failures to 0: such a file is not held back by a build of before.
constexpr const char* kFail = R"(
UPDATE feed_dirty
   SET claim_xmin = NULL, claimed_by = NULL, abandoned = 0, last_error = $3,
       failures = CASE WHEN $5::integer > 0 AND failures = 0 THEN 0 ELSE failures + 1 END,
       not_before = CASE WHEN $5::integer > 0 AND failures = 0 THEN not_before
                         ELSE clock_timestamp() + $4::bigint * interval '1 ms' END
 WHERE doc_key = $1 AND claimed_by = $2)";

constexpr const char* kNextDue = R"(
SELECT ceil(extract(epoch FROM min(ftl_due_at(d.first_touch, d.last_touch, d.not_before, coalesce(f.quiet_ms, 0),
                                             coalesce(f.quiet_ms_max, 0), now.at)) - min(now.at)) * 1000)::bigint
  FROM (SELECT clock_timestamp() AS at) now, feed_dirty d
  LEFT JOIN feed_definition f ON f.feed_type = split_part(d.doc_key, '/', 2))";

constexpr const char* kEnumerationEnd = "/*";

}  // namespace

MarkedKey parse_marked_key(const std::string& doc_key) {
    if (doc_key.ends_with(kEnumerationEnd)) {
        const auto key = core::FeedKey::parse(doc_key.substr(0, doc_key.size() - 2));
        if (!key.filter().empty()) throw core::InvalidInput("'" + core::shorten(doc_key, 100) + "' is no dirty mark");
        return {key.event(), key.feed_type(), "", true};
    }
    const auto key = core::FeedKey::parse(doc_key);
    return {key.event(), key.feed_type(), key.filter(), false};
}

std::string enumeration_key(const std::string& event, const std::string& feed_type) {
    return event + '/' + feed_type + kEnumerationEnd;
}

FileLock::FileLock(store::Session& session, const std::string& doc_key) : session_(session) {
    session_.without_transaction([&](pqxx::transaction_base& tx) {
        static const auto kTryLock = std::string("SELECT pg_try_advisory_lock(") + kLockClass + ", hashtext($1))";
        is_held_ = store::exec_planned(tx, kTryLock, doc_key)[0][0].as<bool>();
    });
}

ClaimAttempt try_claim(store::Session& session, const std::string& identity, const std::vector<std::string>& skip) {
    ClaimAttempt attempt;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = store::exec_planned(tx, kClaim, identity, store::text_array(skip));
        if (rows.empty()) return;
        const auto row = rows[0];
        if (!row[1].as<bool>()) {
            attempt.busy_doc_key = row[0].as<std::string>();
            return;
        }
        // We got the lock, but the row went away in between: nothing to do, and the lock is given back.
        if (row[2].is_null()) {
            tx.exec("SELECT pg_advisory_unlock_all()");
            return;
        }
        Claim claim{row[0].as<std::string>(), row[2].as<std::int64_t>(), row[3].as<std::string>(),
                    row[4].as<std::string>(), row[5].as<int>(),          std::nullopt};
        if (!row[6].is_null()) claim.marked_upto = row[6].as<std::string>();
        attempt.claim = std::move(claim);
    });
    return attempt;
}

std::optional<std::chrono::milliseconds> time_to_next_due(store::Session& session) {
    std::optional<std::chrono::milliseconds> left;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec(kNextDue);
        if (!rows[0][0].is_null())
            left = std::chrono::milliseconds(std::max<std::int64_t>(0, rows[0][0].as<std::int64_t>()));
    });
    return left;
}

const std::string& holds_lock_sql() {
    // Advisory locks of two keys have objsubid 2; the hash is shown as an oid, without its sign.
    static const std::string kSql = std::string(R"(
EXISTS (SELECT FROM pg_locks
         WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 2
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
           AND classid = )") + kLockClass +
                                    R"( AND objid = (hashtext($1)::bigint & 4294967295)::oid))";
    return kSql;
}

void check_lock(bool is_held) {
    if (!is_held) throw Failure::busy("this session has lost the file's lock: something in the build released it");
}

void check_lock(pqxx::transaction_base& tx, const std::string& doc_key) {
    check_lock(store::exec_planned(tx, "SELECT " + holds_lock_sql(), doc_key)[0][0].as<bool>());
}

bool finish_claim(store::Session& session, const Claim& claim, const std::string& identity,
                  const std::string& snapshot) {
    bool is_clean = false;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        const auto row =
            store::exec_planned(tx, kFinish, claim.doc_key, claim.gen, snapshot, identity, claim.last_touch)[0];
        check_lock(row[0].as<bool>());
        is_clean = row[1].as<bool>();
    });
    return is_clean;
}

void fail_claim(pqxx::transaction_base& tx, const Claim& claim, const std::string& identity, const std::string& error,
                std::chrono::milliseconds delay) {
    store::exec_planned(tx, kFail, claim.doc_key, identity, store::checked(core::shorten(error, kErrorBytesMax)),
                        delay.count(), claim.failures);
}

}  // namespace ftlfeed::build
