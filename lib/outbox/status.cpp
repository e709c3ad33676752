#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string>

#include <ftlfeed/outbox/old_transactions.hpp>
#include <ftlfeed/outbox/reader.hpp>

#include "outbox/sql.hpp"

namespace ftlfeed::outbox {

namespace {

/// What is committed and not visible in the consumer's snapshot, less the part of an open window that was paged.
/// Counted up to 100,000 in each arm, so that a long backlog does not make a status page slow.
const std::string kConsumers = std::string(R"(
SELECT c.consumer, )") + sql::kIsForeign +
                               R"(, least(behind.rows, 100000), coalesce(behind.seconds, 0)
  FROM outbox_cursor c CROSS JOIN pg_control_system() s
  CROSS JOIN LATERAL (
    SELECT count(*) AS rows, extract(epoch FROM clock_timestamp() - min(unread.created_at)) AS seconds FROM (
        (SELECT o.txid, o.id, o.created_at FROM outbox o
          WHERE o.txid >= pg_snapshot_xmax(c.snap) ORDER BY o.txid, o.id LIMIT 100000)
        UNION ALL
        (SELECT o.txid, o.id, o.created_at FROM pg_snapshot_xip(c.snap) AS x(xid) JOIN outbox o ON o.txid = x.xid
          LIMIT 100000)) unread
     WHERE NOT )" + sql::kIsForeign +
                               R"(
       AND NOT coalesce(pg_visible_in_snapshot(unread.txid, c.upto)
                        AND (unread.txid, unread.id) <= (c.after_txid, c.after_id), false)) behind
 ORDER BY c.consumer)";

}  // namespace

Status status(store::Session& session) {
    Status status;
    session.read([&](pqxx::transaction_base& tx) {
        status.rows = tx.exec("SELECT count(*) FROM outbox")[0][0].as<std::int64_t>();
        for (const auto& row : tx.exec(kConsumers)) {
            status.consumers.push_back(
                {row[0].c_str(), row[2].as<std::int64_t>(), row[3].as<double>(), row[1].as<bool>()});
        }
    });
    for (const auto& transaction : old_transactions(session)) {
        status.old_transactions.push_back(transaction.description);
    }
    return status;
}

}  // namespace ftlfeed::outbox
