#include "capture/fixture_row.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/capture/vocabulary.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::capture {
namespace {

using std::chrono::sys_seconds;

// As parameters: an empty text stands for NULL.
std::string text_of(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : ""; }
std::string text_of(const std::optional<sys_seconds>& time) {
    return time ? std::to_string(time->time_since_epoch().count()) : "";
}
std::string home_text(const std::optional<Score>& score) { return score ? std::to_string(score->home) : ""; }
std::string away_text(const std::optional<Score>& score) { return score ? std::to_string(score->away) : ""; }
std::string truth_text(const std::optional<bool>& truth) {
    if (!truth) return "";
    return *truth ? "true" : "false";
}

std::optional<NamedRef> team_of(const pqxx::row& row, int id_column) {
    if (row[id_column].is_null()) return std::nullopt;
    return NamedRef{row[id_column].as<std::int64_t>(), row[id_column + 1].as<std::string>()};
}

}  // namespace

std::optional<FixtureRow> lock_fixture(pqxx::transaction_base& tx, const std::string& provider,
                                       std::int64_t fixture_id) {
    const auto rows = tx.exec_params(
        R"(SELECT f.id, f.event_id, e.code, f.ticket, coalesce(encode(f.digest, 'hex'), ''), f.is_incomplete,
                  f.is_terminal, f.state_id, f.state, f.settled_at IS NOT NULL,
                  h.provider_id, h.name, a.provider_id, a.name, f.has_open_questions, f.home_score, f.away_score,
                  extract(epoch FROM f.over_at)::bigint
           FROM fixture f
           JOIN event e ON e.id = f.event_id
           LEFT JOIN participant h ON h.id = f.home_id
           LEFT JOIN participant a ON a.id = f.away_id
           WHERE f.provider = $1 AND f.provider_id = $2
           FOR UPDATE OF f)",
        provider, fixture_id);
    if (rows.empty()) return std::nullopt;
    const auto& row = rows[0];
    FixtureRow fixture;
    fixture.id = row[0].as<std::int64_t>();
    fixture.event_id = row[1].as<std::int64_t>();
    fixture.event_code = row[2].as<std::string>();
    fixture.ticket = row[3].as<std::int64_t>();
    fixture.digest = row[4].as<std::string>();
    fixture.is_incomplete = row[5].as<bool>();
    fixture.is_terminal = row[6].as<bool>();
    fixture.state_id = row[7].as<std::int32_t>();
    fixture.is_known_state = state_meaning(fixture.state_id, row[8].as<std::string>()).is_known;
    fixture.is_settled = row[9].as<bool>();
    fixture.home = team_of(row, 10);
    fixture.away = team_of(row, 12);
    fixture.has_open_questions = row[14].as<bool>();
    if (!row[15].is_null() && !row[16].is_null()) {
        fixture.score = Score{row[15].as<std::int32_t>(), row[16].as<std::int32_t>()};
    }
    if (!row[17].is_null()) fixture.over_at = sys_seconds(std::chrono::seconds(row[17].as<std::int64_t>()));
    return fixture;
}

bool insert_fixture(pqxx::transaction_base& tx, const std::string& provider, const FixtureSnapshot& snapshot) {
    const auto made = tx.exec_params(
        R"(INSERT INTO fixture (provider, provider_id, event_id, state_id, state)
           SELECT $1, $2, e.id, $4, $5 FROM event e WHERE e.provider = $1 AND e.provider_season_id = $3
           ON CONFLICT (provider, provider_id) DO NOTHING RETURNING id)",
        provider, snapshot.id, snapshot.season_id, snapshot.state_id, store::checked(snapshot.state));
    return !made.empty();
}

UpdatedFixture update_fixture(pqxx::transaction_base& tx, const FixtureRow& row, const FixtureUpdate& update) {
    const auto& snapshot = update.snapshot;
    const auto over_at = update.provider_time ? std::optional(*update.provider_time + update.quiet) : std::nullopt;
    const auto rows = tx.exec_params(
        R"(UPDATE fixture f SET
               home_id = nullif($2, '')::bigint, away_id = nullif($3, '')::bigint,
               kickoff = to_timestamp(nullif($4, '')::bigint),
               group_name = nullif($5, ''), round_name = nullif($6, ''), stage_name = nullif($7, ''),
               state_id = $8, state = $9, is_terminal = $10, has_started = $11,
               home_score = nullif($12, '')::integer, away_score = nullif($13, '')::integer,
               home_score_half = nullif($14, '')::integer, away_score_half = nullif($15, '')::integer,
               home_shootout = nullif($16, '')::integer, away_shootout = nullif($17, '')::integer,
               ticket = $18, digest = $19::bytea, is_incomplete = $20, has_open_questions = $21,
               is_score_explained = nullif($22, '')::boolean,
               over_at = CASE WHEN $10 AND f.is_terminal THEN f.over_at
                              WHEN $10 THEN to_timestamp(nullif($23, '')::bigint) END,
               terminal_at = CASE WHEN $10 THEN coalesce(f.terminal_at, clock_timestamp()) END,
               row_version = f.row_version + 1, updated_at = clock_timestamp()
           FROM fixture old WHERE f.id = $1 AND old.id = $1
           RETURNING f.row_version, coalesce(f.over_at > to_timestamp(nullif($24, '')::bigint), false),
               (f.home_id, f.away_id, f.kickoff, f.group_name, f.round_name, f.stage_name, f.state_id, f.state,
                f.is_terminal, f.has_started, f.home_score, f.away_score, f.home_score_half, f.away_score_half,
                f.home_shootout, f.away_shootout, f.is_score_explained)
               IS DISTINCT FROM
               (old.home_id, old.away_id, old.kickoff, old.group_name, old.round_name, old.stage_name, old.state_id,
                old.state, old.is_terminal, old.has_started, old.home_score, old.away_score, old.home_score_half,
                old.away_score_half, old.home_shootout, old.away_shootout, old.is_score_explained))",
        row.id, text_of(update.home_id), text_of(update.away_id), text_of(snapshot.kickoff),
        store::checked(snapshot.group), store::checked(snapshot.round), store::checked(snapshot.stage),
        snapshot.state_id, store::checked(snapshot.state), snapshot.is_terminal, snapshot.has_started,
        home_text(snapshot.score), away_text(snapshot.score), home_text(snapshot.half_score),
        away_text(snapshot.half_score), home_text(snapshot.shootout), away_text(snapshot.shootout), update.ticket,
        "\\x" + update.digest, update.is_incomplete, update.has_open_questions, truth_text(update.is_score_explained),
        text_of(over_at), text_of(update.provider_time));
    return {rows[0][0].as<std::int64_t>(), snapshot.is_terminal && !rows[0][1].as<bool>(), rows[0][2].as<bool>()};
}

std::int64_t note_answer(pqxx::transaction_base& tx, const FixtureRow& row, std::int64_t ticket) {
    const auto rows = tx.exec_params(
        "UPDATE fixture SET ticket = $2, row_version = row_version + 1 WHERE id = $1 RETURNING row_version", row.id,
        ticket);
    return rows[0][0].as<std::int64_t>();
}

}  // namespace ftlfeed::capture
