#include <ftlfeed/outbox/old_transactions.hpp>

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::outbox {

namespace {

constexpr const char* kAlertKind = "outbox.old_transaction";
constexpr std::size_t kDescriptionBytesMax = 500;

/// $1 = milliseconds. A statement's text is not shown: it may hold secrets. A session that is idle in a READ COMMITTED
/// transaction without an xid holds nothing back and is left out.
constexpr const char* kOldTransactions = R"(
SELECT subject, description FROM (
    SELECT 'open ' || pid || ' ' || to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS subject,
           'transaction of process ' || pid || ', open for '
           || extract(epoch FROM clock_timestamp() - xact_start)::bigint || ' s: user ' || coalesce(usename, '?') || ', database ' || coalesce(datname, '?') || ', application '
           || coalesce(nullif(application_name, ''), '?') || coalesce(', client ' || host(client_addr), '') || ', '
           || coalesce(state, '?') || '; end it there, or by SELECT pg_terminate_backend(' || pid || ')' AS description,
           xact_start AS since
      FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
       AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
    UNION ALL
    SELECT 'prepared ' || gid,
           'transaction ' || quote_literal(gid) || ', prepared '
           || extract(epoch FROM clock_timestamp() - prepared)::bigint || ' s ago: user ' || owner || ', database '
           || database || '; end it in that database by COMMIT PREPARED or ROLLBACK PREPARED ' || quote_literal(gid),
           prepared
      FROM pg_prepared_xacts) old
 WHERE clock_timestamp() - since >= $1::bigint * interval '1 millisecond'
 ORDER BY since, subject LIMIT 20)";

std::vector<alert::OpenAlert> raised_before(store::Session& session) {
    auto alerts = alert::open_alerts(session);
    std::erase_if(alerts, [](const alert::OpenAlert& alert) { return alert.kind != kAlertKind; });
    return alerts;
}

}  // namespace

std::vector<OldTransaction> old_transactions(store::Session& session, std::chrono::milliseconds older_than) {
    std::vector<OldTransaction> found;
    session.without_transaction([&](pqxx::transaction_base& tx) {
        for (const auto& row : tx.exec_params(kOldTransactions, older_than.count())) {
            found.push_back({row[0].c_str(), core::shorten(row[1].c_str(), kDescriptionBytesMax)});
        }
    });
    return found;
}

int alert_old_transactions(store::Session& session, std::chrono::milliseconds older_than) {
    const auto found = old_transactions(session, older_than);
    const auto open = raised_before(session);
    if (found.empty() && open.empty()) return 0;
    session.write([&](pqxx::transaction_base& tx) {
        for (const auto& transaction : found) {
            alert::raise(tx, {kAlertKind, transaction.subject, alert::Severity::kWarning, transaction.description});
        }
        for (const auto& alert : open) {
            const bool lives = std::any_of(found.begin(), found.end(), [&](const OldTransaction& transaction) {
                return transaction.subject == alert.subject;
            });
            if (!lives) alert::clear(tx, kAlertKind, alert.subject);
        }
    });
    return static_cast<int>(found.size());
}

}  // namespace ftlfeed::outbox
