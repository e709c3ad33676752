#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string>

#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/epoch.hpp>

#include "outbox/sql.hpp"

namespace ftlfeed::outbox {

namespace {

/// Every file that lives, and every mark that waits. A build that runs meanwhile finds another generation when it ends
/// and leaves its mark, so its claim need not be kept; a claim that came with the dump means nothing here.
constexpr const char* kMarkAll = R"(
INSERT INTO feed_dirty AS d (doc_key, first_touch, last_touch, reason)
SELECT k.doc_key, clock_timestamp(), clock_timestamp(), 'rebase'
  FROM (SELECT doc_key FROM feed_document WHERE retired_at IS NULL UNION SELECT doc_key FROM feed_dirty) k
 ORDER BY k.doc_key
ON CONFLICT (doc_key) DO UPDATE
   SET gen = d.gen + 1, last_touch = greatest(d.last_touch, excluded.last_touch), not_before = clock_timestamp(),
       failures = 0, abandoned = 0, claim_xmin = NULL, claimed_by = NULL, first_since_claim = NULL,
       reason = 'rebase')";

/// Stamps that came with the dump and lie in this cluster's future: no snapshot would ever call them seen.
constexpr const char* kStampDocuments =
    "UPDATE feed_document SET txid = pg_current_xact_id() WHERE txid >= pg_snapshot_xmax(pg_current_snapshot())";
constexpr const char* kStampAssignments =
    "UPDATE delivery_assignment SET txid = pg_current_xact_id() WHERE txid >= pg_snapshot_xmax(pg_current_snapshot())";

const std::string kMoveCursors =
    std::string(
        "UPDATE outbox_cursor SET upto = NULL, after_txid = NULL, after_id = NULL, moved_at = clock_timestamp(),"
        " system_identifier = (SELECT system_identifier FROM pg_control_system()), snap = (") +
    sql::kOwnOpenSnapshot + ")::pg_snapshot";

}  // namespace

std::int64_t rebase(store::Session& session) {
    // The files' versions must be newer than what the old cluster may have sent.
    (void)store::check_epoch(session);
    std::int64_t marked = 0;
    session.write_retrying([&](pqxx::transaction_base& tx) {
        // Readers wait; writers do not. Whatever they commit before the cursors' new snapshot is seen by the
        // builds of the marks below, since those begin after this commit; what comes later is read from the outbox.
        tx.exec("LOCK TABLE outbox_cursor IN EXCLUSIVE MODE");
        marked = static_cast<std::int64_t>(tx.exec(kMarkAll).affected_rows());
        // The old cluster's rows carry its xids: kept, they would come up when this cluster reaches those numbers.
        tx.exec("DELETE FROM outbox");
        tx.exec(kStampDocuments);
        tx.exec(kStampAssignments);
        tx.exec(kMoveCursors);
        // Births and retirements: each event's files are enumerated again. This transaction counts as open in the
        // cursors' snapshot, so these rows are read.
        tx.exec("SELECT ftl_touch('event', code, code) FROM event ORDER BY code");
    });
    return marked;
}

}  // namespace ftlfeed::outbox
