#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/outbox/reader.hpp>

#include "outbox/sql.hpp"

namespace ftlfeed::outbox {

namespace {

/// $1 = rows at most. The floor is the least xid that a cursor's last completed snapshot saw in progress, or that a
/// running build's snapshot might have: what lies below was finished in all of them, so it was delivered, and no build
/// will look for it. A window that is open has its start in `snap`, so it is spared as well. Claims and cursors only
/// grow, and a claim is committed before its build's snapshot is taken: whoever comes after this statement's snapshot
/// sees what is deleted here as finished.
/// A foreign cursor's xids mean nothing in this cluster, and neither do the rows that came with it: nothing is deleted.
const std::string kTrim = std::string(R"(
WITH floor AS (
    SELECT least(min(pg_snapshot_xmin(c.snap)), (SELECT min(claim_xmin) FROM feed_dirty)) AS xid
      FROM outbox_cursor c CROSS JOIN pg_control_system() s
    HAVING NOT bool_or()") +
                          sql::kIsForeign + R"())
DELETE FROM outbox WHERE ctid = ANY (ARRAY(
    SELECT o.ctid FROM outbox o WHERE o.txid < (SELECT xid FROM floor) ORDER BY o.txid, o.id LIMIT $1::bigint)))";

}  // namespace

std::int64_t trim(store::Session& session, std::size_t rows_max) {
    std::int64_t deleted = 0;
    session.write([&](pqxx::transaction_base& tx) {
        deleted = static_cast<std::int64_t>(tx.exec_params(kTrim, rows_max).affected_rows());
    });
    return deleted;
}

}  // namespace ftlfeed::outbox
