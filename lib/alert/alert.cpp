#include <ftlfeed/alert/alert.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::alert {

namespace {

constexpr std::size_t kMessageBytesMax = 4000;

// One statement, so that two who raise the same trouble at once make one row. `xmax = 0`: the row was inserted now.
constexpr auto kRaise =
    "INSERT INTO alert (kind, subject, severity, message) VALUES ($1, $2, $3, $4) "
    "ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE "
    "SET times = alert.times + 1, last_seen_at = clock_timestamp(), severity = excluded.severity, "
    "message = excluded.message RETURNING xmax = 0";

constexpr auto kClear =
    "UPDATE alert SET cleared_at = clock_timestamp(), cleared_txid = pg_current_xact_id() "
    "WHERE kind = $1 AND subject = $2 AND cleared_at IS NULL";

// ISO 8601 in UTC, whatever the session's settings are.
constexpr auto kOpen =
    "SELECT id, kind, subject, severity, message, times, "
    "to_char(raised_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), "
    "to_char(last_seen_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') "
    "FROM alert WHERE cleared_at IS NULL ORDER BY raised_at, id";

/// Postgres takes neither a NUL nor broken UTF-8; an alert must not fail over a text from outside.
std::string storable(const std::string& text) {
    auto cut = core::shorten(text, kMessageBytesMax);
    for (char& c : cut) {
        if (c == '\0') c = ' ';
    }
    return core::is_utf8(cut) ? cut : core::json_quoted(cut);
}

}  // namespace

const char* severity_name(Severity severity) {
    switch (severity) {
        case Severity::kInfo:
            return "info";
        case Severity::kWarning:
            return "warning";
        case Severity::kCritical:
            return "critical";
    }
    return "critical";
}

Severity severity_from(const std::string& name) {
    if (name == "info") return Severity::kInfo;
    if (name == "warning") return Severity::kWarning;
    if (name == "critical") return Severity::kCritical;
    throw core::InvalidInput("there is no severity " + core::json_quoted(name) + "; it is info, warning or critical");
}

bool raise(pqxx::transaction_base& tx, const Alert& alert) {
    const auto rows = tx.exec_params(kRaise, storable(alert.kind), storable(alert.subject),
                                     severity_name(alert.severity), storable(alert.message));
    return rows[0][0].as<bool>();
}

bool clear(pqxx::transaction_base& tx, const std::string& kind, const std::string& subject) {
    return tx.exec_params(kClear, storable(kind), storable(subject)).affected_rows() > 0;
}

std::vector<OpenAlert> open_alerts(store::Session& session) {
    std::vector<OpenAlert> alerts;
    session.read([&](pqxx::transaction_base& tx) {
        for (const auto& row : tx.exec(kOpen)) {
            OpenAlert alert;
            alert.id = row[0].as<std::int64_t>();
            alert.kind = row[1].as<std::string>();
            alert.subject = row[2].as<std::string>();
            alert.severity = severity_from(row[3].as<std::string>());
            alert.message = row[4].as<std::string>();
            alert.times = row[5].as<std::int64_t>();
            alert.raised_at = row[6].as<std::string>();
            alert.last_seen_at = row[7].as<std::string>();
            alerts.push_back(std::move(alert));
        }
    });
    return alerts;
}

}  // namespace ftlfeed::alert
