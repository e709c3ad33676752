#include <ftlfeed/alert/log_sink.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::alert {

namespace {

// $1 is the snapshot of the last look. A raise and a clearing that both fell in between are two lines.
constexpr auto kNews =
    "SELECT what, kind, subject, severity, message FROM ("
    "  SELECT 'raised' AS what, kind, subject, severity, message, raised_at AS at, id FROM alert"
    "  WHERE raised_txid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(raised_txid, "
    "$1::pg_snapshot)"
    "  UNION ALL"
    "  SELECT 'cleared', kind, subject, severity, message, cleared_at, id FROM alert"
    "  WHERE cleared_txid >= pg_snapshot_xmin($1::pg_snapshot) AND NOT pg_visible_in_snapshot(cleared_txid, "
    "$1::pg_snapshot)"
    ") news ORDER BY at, id";

constexpr auto kAllOpen =
    "SELECT 'raised', kind, subject, severity, message FROM alert WHERE cleared_at IS NULL ORDER BY raised_at, id";

// A restored cluster counts from an older place: the snapshot says nothing about it, and the look begins anew.
constexpr auto kSnapshotFits = "SELECT pg_snapshot_xmax($1::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())";

core::LogLevel level_of(Severity severity) {
    switch (severity) {
        case Severity::kInfo:
            return core::LogLevel::kInfo;
        case Severity::kWarning:
            return core::LogLevel::kWarning;
        case Severity::kCritical:
            return core::LogLevel::kError;
    }
    return core::LogLevel::kError;
}

void log_line(const pqxx::row& row) {
    const bool is_raised = row[0].as<std::string>() == "raised";
    const auto severity = row[3].as<std::string>();
    core::log(is_raised ? level_of(severity_from(severity)) : core::LogLevel::kInfo,
              is_raised ? "alert.raised" : "alert.cleared",
              {{"kind", row[1].as<std::string>()},
               {"subject", row[2].as<std::string>()},
               {"severity", severity},
               {"message", row[4].as<std::string>()}});
}

}  // namespace

int LogSink::pump(store::Session& session) {
    pqxx::result news;
    std::string snapshot;
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        snapshot = tx.exec("SELECT pg_current_snapshot()")[0][0].as<std::string>();
        const bool goes_on = !snapshot_.empty() && tx.exec_params(kSnapshotFits, snapshot_)[0][0].as<bool>();
        news = goes_on ? tx.exec_params(kNews, snapshot_) : tx.exec(kAllOpen);
    });
    for (const auto& row : news) log_line(row);
    snapshot_ = snapshot;
    return static_cast<int>(news.size());
}

}  // namespace ftlfeed::alert
