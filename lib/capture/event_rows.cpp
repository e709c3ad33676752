#include "capture/event_rows.hpp"

#include <pqxx/except>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/capture/vocabulary.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/text.hpp>

#include "capture/quarantine.hpp"
#include "capture/sql_text.hpp"

namespace ftlfeed::capture {
namespace {

template <typename Number>
std::string number_or_null(const std::optional<Number>& number) {
    return number ? std::to_string(*number) : "null";
}

std::string name_or_null(const std::optional<NamedRef>& ref) {
    return ref && !ref->name.empty() ? core::json_quoted(ref->name) : "null";
}

/// All rows as one JSON parameter; the provider's own bytes stand in it as they are.
std::string rows_json(const std::vector<EventRow>& rows) {
    std::string json = "[";
    for (const auto& row : rows) {
        const auto& event = *row.event;
        if (json.size() > 1) json += ',';
        json += "{\"provider_event_id\":" + std::to_string(event.id);
        json += ",\"match_event_id\":" + std::to_string(row.match_event_id);
        json += std::string(",\"revision_kind\":\"") + row.revision_kind + '"';
        json += ",\"type_id\":" + std::to_string(event.type_id);
        json += ",\"type\":\"" + event_type_name(event.type_id) + "\"";
        json += ",\"minute\":" + number_or_null(event.minute);
        json += ",\"extra_minute\":" + number_or_null(event.extra_minute);
        if (row.team_side)
            json += *row.team_side == Side::kHome ? ",\"team_side\":\"home\"" : ",\"team_side\":\"away\"";
        json += ",\"participant_id\":" + number_or_null(row.participant_id);
        json += ",\"player_id\":" + number_or_null(row.player_id);
        json += ",\"player_name\":" + name_or_null(event.player);
        json += ",\"assist_player_id\":" + number_or_null(row.assist_player_id);
        json += ",\"assist_name\":" + name_or_null(event.related_player);
        if (event.result) {
            json +=
                ",\"result\":\"" + std::to_string(event.result->home) + "-" + std::to_string(event.result->away) + "\"";
        }
        if (event.verdict != VarVerdict::kNone) json += ",\"verdict\":\"" + verdict_name(event.verdict) + '"';
        json += ",\"content_hash\":\"" + core::hex(content_hash(event, row.team_side)) + "\"";
        json += ",\"raw\":" + event.raw + "}";
    }
    return json + "]";
}

// The columns that both tables have, in this order, and how they come out of the JSON parameter.
#define FTL_EVENT_COLUMNS                                                                      \
    "type_id, type, minute, extra_minute, team_side, participant_id, player_id, player_name, " \
    "assist_player_id, assist_name, result, verdict, content_hash, raw_payload"
#define FTL_EVENT_VALUES                                                                                       \
    "r.type_id, r.type, r.minute, r.extra_minute, r.team_side, r.participant_id, r.player_id, r.player_name, " \
    "r.assist_player_id, r.assist_name, r.result, r.verdict, decode(r.content_hash, 'hex'), r.raw"
#define FTL_EVENT_RECORD                                                                                         \
    "r(provider_event_id bigint, match_event_id bigint, revision_kind text, type_id integer, type text, minute " \
    "integer, "                                                                                                  \
    "extra_minute integer, team_side text, participant_id bigint, player_id bigint, player_name text, "          \
    "assist_player_id bigint, assist_name text, result text, verdict text, content_hash text, raw jsonb)"

constexpr const char* kInsertEvents =
    "INSERT INTO match_events (provider, fixture_id, source, ticket, may_bump, provider_event_id, " FTL_EVENT_COLUMNS
    ") SELECT $1, $2, $3, $4, $5, r.provider_event_id, " FTL_EVENT_VALUES
    " FROM jsonb_to_recordset($6::jsonb) AS " FTL_EVENT_RECORD
    " ORDER BY r.provider_event_id"
    " ON CONFLICT (provider, fixture_id, provider_event_id) DO NOTHING RETURNING provider_event_id";

constexpr const char* kInsertRevisions =
    "WITH made AS (INSERT INTO match_event_revision (match_event_id, kind, source, ticket, " FTL_EVENT_COLUMNS
    ") SELECT r.match_event_id, r.revision_kind, $1, $2, " FTL_EVENT_VALUES
    " FROM jsonb_to_recordset($3::jsonb) AS " FTL_EVENT_RECORD
    " ORDER BY r.provider_event_id RETURNING id, match_event_id)"
    " SELECT e.provider_event_id, made.id FROM made JOIN match_events e ON e.id = made.match_event_id";

constexpr const char* kInsertWithdrawals =
    "WITH made AS (INSERT INTO match_event_revision (match_event_id, kind, source, ticket, " FTL_EVENT_COLUMNS
    ") SELECT r.id, 'withdrawn', $1, $2, " FTL_EVENT_COLUMNS
    " FROM (SELECT e.id, e.provider_event_id, v.* FROM match_events e CROSS JOIN LATERAL ("
    "SELECT " FTL_EVENT_COLUMNS
    ", 0 AS place, 0 AS revision FROM match_events f WHERE f.id = e.id UNION ALL "
    "SELECT " FTL_EVENT_COLUMNS
    ", 1, id FROM match_event_revision WHERE match_event_id = e.id "
    "ORDER BY place DESC, revision DESC LIMIT 1) v WHERE e.id = ANY($3::bigint[])) r"
    " ORDER BY r.provider_event_id RETURNING id, match_event_id)"
    " SELECT e.provider_event_id, made.id FROM made JOIN match_events e ON e.id = made.match_event_id";

std::map<std::int64_t, std::int64_t> by_event(const pqxx::result& rows) {
    std::map<std::int64_t, std::int64_t> revisions;
    for (const auto& row : rows) revisions[row[0].as<std::int64_t>()] = row[1].as<std::int64_t>();
    return revisions;
}

}  // namespace

std::vector<std::int64_t> insert_events(pqxx::transaction_base& tx, const RowContext& context,
                                        const std::vector<EventRow>& rows) {
    std::vector<std::int64_t> ids;
    if (rows.empty()) return ids;
    for (const auto& row : tx.exec_params(kInsertEvents, context.provider, context.fixture_id, context.source,
                                          context.ticket, context.may_bump, rows_json(rows))) {
        ids.push_back(row[0].as<std::int64_t>());
    }
    return ids;
}

std::map<std::int64_t, std::int64_t> insert_revisions(pqxx::transaction_base& tx, const RowContext& context,
                                                      const std::vector<EventRow>& rows) {
    if (rows.empty()) return {};
    return by_event(tx.exec_params(kInsertRevisions, context.source, context.ticket, rows_json(rows)));
}

std::map<std::int64_t, std::int64_t> insert_withdrawals(pqxx::transaction_base& tx, const RowContext& context,
                                                        const std::vector<std::int64_t>& match_event_ids) {
    if (match_event_ids.empty()) return {};
    return by_event(tx.exec_params(kInsertWithdrawals, context.source, context.ticket, bigint_array(match_event_ids)));
}

void insert_piecewise(pqxx::transaction_base& tx, const std::vector<EventRow>& rows,
                      const std::function<void(const std::vector<EventRow>&)>& insert,
                      const std::function<void(const EventRow&, const std::string& reason)>& refused) {
    if (rows.empty()) return;
    std::string reason;
    tx.exec("SAVEPOINT ftl_rows");
    try {
        insert(rows);
    } catch (const pqxx::sql_error& error) {
        if (!is_refused_payload(error.sqlstate())) throw;
        reason = error.what();
    }
    if (reason.empty()) {
        tx.exec("RELEASE SAVEPOINT ftl_rows");
        return;
    }
    tx.exec("ROLLBACK TO SAVEPOINT ftl_rows");
    tx.exec("RELEASE SAVEPOINT ftl_rows");
    if (rows.size() == 1) return refused(rows.front(), reason);
    const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
    insert_piecewise(tx, {rows.begin(), middle}, insert, refused);
    insert_piecewise(tx, {middle, rows.end()}, insert, refused);
}

}  // namespace ftlfeed::capture
