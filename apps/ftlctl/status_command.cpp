#include <ftlctl/command.hpp>

#include <ftlfeed/outbox/reader.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlctl/call.hpp>

namespace ftlctl {

namespace {

void report_events(Report& report, pqxx::transaction_base& tx) {
    report.table("events",
                 tx.exec("SELECT e.code AS event, count(f.id) AS fixtures, "
                         "count(*) FILTER (WHERE f.id IS NOT NULL AND NOT f.has_started) AS ahead, "
                         "count(*) FILTER (WHERE f.has_started AND NOT f.is_terminal) AS in_play, "
                         "count(*) FILTER (WHERE f.is_terminal) AS over, "
                         "count(*) FILTER (WHERE f.is_incomplete) AS incomplete "
                         "FROM event e LEFT JOIN fixture f ON f.event_id = e.id GROUP BY e.code ORDER BY e.code"));
}

void report_files(Report& report, pqxx::transaction_base& tx) {
    const auto row = tx.exec1(
        "SELECT (SELECT count(*) FROM feed_document WHERE retired_at IS NULL), (SELECT count(*) FROM feed_dirty), "
        "(SELECT count(*) FROM feed_dirty WHERE failures > 0), (SELECT count(*) FROM event_quarantine), "
        "(SELECT count(*) FROM alert WHERE cleared_at IS NULL)");
    report.fact("files", row[0]);
    report.fact("dirty", row[1]);
    report.fact("failing_builds", row[2]);
    report.fact("quarantined", row[3]);
    report.fact("alerts", row[4]);
}

// Owed: files whose newest version, as the destination wants it now, has no proof there yet (docs/deliver.md). The age is
// that of the oldest change among them.
void report_destinations(Report& report, pqxx::transaction_base& tx) {
    report.table(
        "destinations",
        tx.exec("SELECT c.code || '/' || a.name AS destination, a.is_on AND c.is_on AS on, "
                "count(o.doc_key) AS owed, "
                "extract(epoch FROM clock_timestamp() - min(o.changed_at))::float8 AS oldest_owed_seconds, "
                "(SELECT extract(epoch FROM clock_timestamp() - max(s.proven_at))::float8 FROM delivery_state s "
                "WHERE s.assignment_id = a.id) AS last_proof_seconds_ago, "
                "greatest(a.failures, max(coalesce(o.failures, 0))) AS failures, "
                "coalesce(a.last_error, max(o.last_error)) AS last_error "
                "FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id "
                "LEFT JOIN delivery_owed o ON o.assignment_id = a.id GROUP BY a.id, c.id ORDER BY 1"));
}

int status(Call& call) {
    auto& report = call.report();
    const auto outbox = ftlfeed::outbox::status(call.session());
    call.session().read_snapshot([&](pqxx::transaction_base& tx) {
        report_files(report, tx);
        report_events(report, tx);
        report_destinations(report, tx);
        report.table("leases",
                     tx.exec("SELECT name AS lease, holder, "
                             "(extract(epoch FROM clock_timestamp() - renewed_at))::float8 AS renewed_seconds_ago "
                             "FROM lease ORDER BY name"));
        report.table("alerts",
                     tx.exec("SELECT severity, kind, subject, message FROM alert WHERE cleared_at IS NULL "
                             "ORDER BY array_position('{critical,warning,info}'::text[], severity), id LIMIT 20"));
    });
    std::vector<std::vector<Cell>> cursors;
    for (const auto& consumer : outbox.consumers) {
        cursors.push_back({consumer.consumer, consumer.rows_behind, consumer.oldest_unread_seconds});
    }
    report.table("cursors", {"consumer", "rows_behind", "oldest_unread_seconds"}, std::move(cursors));
    return 0;
}

}  // namespace

std::vector<Command> status_commands() {
    return {
        {{"status"},
         {},
         "the whole installation on one screen",
         "Fixtures by state, how far the outbox is read, files that wait for a build, what destinations are owed and\n"
         "how old that is, who holds which lease, open alerts.\n\n  ftlctl status\n  watch -n 1 ftlctl status",
         {},
         status},
    };
}

}  // namespace ftlctl
