#include "capture/directory.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/store/value.hpp>

#include "capture/sql_text.hpp"

namespace ftlfeed::capture {

struct Directory::Found {
    DirectoryRow row;
    std::string name;
    bool has_team = false;
};

struct Directory::Table {
    const char* kind;
    const char* find;
};

namespace {

// One probe for each id: an anti-join or = ANY is planned badly while the tables are young (docs/capture.md).
constexpr const char* kFindTeams = R"(
    SELECT w.provider_id, p.id, p.name, i.id, false
    FROM unnest($2::bigint[]) AS w(provider_id)
    CROSS JOIN LATERAL (SELECT id, name FROM participant
                        WHERE provider = $1 AND provider_id = w.provider_id LIMIT 1) p
    CROSS JOIN LATERAL (SELECT id FROM instrument
                        WHERE provider = $1 AND kind = 'team' AND provider_id = w.provider_id LIMIT 1) i)";
constexpr const char* kFindPlayers = R"(
    SELECT w.provider_id, p.id, p.name, i.id, p.participant_id IS NOT NULL
    FROM unnest($2::bigint[]) AS w(provider_id)
    CROSS JOIN LATERAL (SELECT id, name, participant_id FROM player
                        WHERE provider = $1 AND provider_id = w.provider_id LIMIT 1) p
    CROSS JOIN LATERAL (SELECT id FROM instrument
                        WHERE provider = $1 AND kind = 'player' AND provider_id = w.provider_id LIMIT 1) i)";

template <typename Map>
std::vector<std::int64_t> keys(const Map& map) {
    std::vector<std::int64_t> ids;
    ids.reserve(map.size());
    for (const auto& [id, value] : map) ids.push_back(id);
    return ids;
}

/// Those of `wanted` that were not found.
template <typename Wanted, typename Rows>
Wanted missing_of(const Wanted& wanted, const Rows& found) {
    Wanted missing;
    for (const auto& [id, value] : wanted) {
        if (!found.contains(id)) missing.emplace(id, value);
    }
    return missing;
}

/// How many characters (not bytes) a UTF-8 text has.
std::size_t letters(const std::string& text) {
    std::size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
    return count;
}

}  // namespace

Directory::FoundRows Directory::find(const Table& table, const std::vector<std::int64_t>& ids) {
    FoundRows found;
    for (const auto& row : tx_.exec_params(table.find, provider_, bigint_array(ids))) {
        Found entry;
        entry.row = {row[1].as<std::int64_t>(), row[3].as<std::int64_t>()};
        entry.name = row[2].as<std::string>();
        entry.has_team = row[4].as<bool>();
        found.emplace(row[0].as<std::int64_t>(), std::move(entry));
    }
    return found;
}

void Directory::make_instruments(const Table& table, const std::vector<std::int64_t>& ids) {
    const auto array = bigint_array(ids);
    tx_.exec_params(R"(INSERT INTO instrument (kind, provider, provider_id)
                       SELECT $1, $2, w.id FROM unnest($3::bigint[]) AS w(id) ORDER BY w.id
                       ON CONFLICT (provider, kind, provider_id) DO NOTHING)",
                    table.kind, provider_, array);
    tx_.exec_params(R"(INSERT INTO instrument_bump (instrument_id, epoch)
                       SELECT i.id, coalesce((SELECT epoch FROM cluster_epoch), 0)
                       FROM instrument i JOIN unnest($3::bigint[]) AS w(id) ON i.provider_id = w.id
                       WHERE i.kind = $1 AND i.provider = $2 ORDER BY i.id
                       ON CONFLICT (instrument_id) DO NOTHING)",
                    table.kind, provider_, array);
}

DirectoryRows Directory::teams(const std::map<std::int64_t, std::string>& names, bool may_rename) {
    DirectoryRows rows;
    if (names.empty()) return rows;
    const Table table{"team", kFindTeams};
    auto found = find(table, keys(names));
    if (const auto missing = missing_of(names, found); !missing.empty()) {
        std::vector<std::string> texts;
        for (const auto& [id, name] : missing) texts.push_back(name);
        tx_.exec_params(R"(INSERT INTO participant (provider, provider_id, name)
                           SELECT $1, w.id, w.name FROM unnest($2::bigint[], $3::text[]) AS w(id, name) ORDER BY w.id
                           ON CONFLICT (provider, provider_id) DO NOTHING)",
                        provider_, bigint_array(keys(missing)), store::text_array(texts));
        make_instruments(table, keys(missing));
        found = find(table, keys(names));
    }
    FTL_ASSERT(found.size() == names.size());
    for (const auto& [id, entry] : found) {
        rows.emplace(id, entry.row);
        const auto& name = names.at(id);
        if (!may_rename || name.empty() || name == entry.name) continue;
        tx_.exec_params("UPDATE participant SET name = $2 WHERE id = $1", entry.row.id, store::checked(name));
        renamed_teams_.push_back(entry.row.id);
    }
    return rows;
}

DirectoryRows Directory::players(const std::map<std::int64_t, PlayerEntry>& players, bool may_rename) {
    DirectoryRows rows;
    if (players.empty()) return rows;
    const Table table{"player", kFindPlayers};
    auto found = find(table, keys(players));
    if (const auto missing = missing_of(players, found); !missing.empty()) {
        std::vector<std::string> texts;
        std::vector<std::int64_t> team_ids;
        for (const auto& [id, player] : missing) {
            texts.push_back(player.name);
            team_ids.push_back(player.team_id);
        }
        tx_.exec_params(R"(INSERT INTO player (provider, provider_id, name, participant_id)
                           SELECT $1, w.id, w.name, nullif(w.team, 0)
                           FROM unnest($2::bigint[], $3::text[], $4::bigint[]) AS w(id, name, team) ORDER BY w.id
                           ON CONFLICT (provider, provider_id) DO NOTHING)",
                        provider_, bigint_array(keys(missing)), store::text_array(texts), bigint_array(team_ids));
        make_instruments(table, keys(missing));
        found = find(table, keys(players));
    }
    FTL_ASSERT(found.size() == players.size());
    for (const auto& [id, entry] : found) {
        rows.emplace(id, entry.row);
        const auto& player = players.at(id);
        if (may_rename && letters(player.name) > letters(entry.name)) {
            tx_.exec_params("UPDATE player SET name = $2 WHERE id = $1", entry.row.id, store::checked(player.name));
            renamed_players_.push_back(entry.row.id);
        }
        if (player.team_id == 0 || entry.has_team) continue;
        tx_.exec_params("UPDATE player SET participant_id = $2 WHERE id = $1", entry.row.id, player.team_id);
    }
    return rows;
}

void Directory::touch_renamed() {
    if (!renamed_teams_.empty()) {
        tx_.exec_params(R"(SELECT ftl_touch('fixture', f.provider_id::text, e.code)
                           FROM fixture f JOIN event e ON e.id = f.event_id
                           WHERE f.home_id = ANY($1::bigint[]) OR f.away_id = ANY($1::bigint[]))",
                        bigint_array(renamed_teams_));
    }
    if (!renamed_players_.empty()) {
        tx_.exec_params(R"(SELECT ftl_touch('fixture', f.provider_id::text, e.code)
                           FROM fixture f JOIN event e ON e.id = f.event_id
                           WHERE f.id IN (SELECT m.fixture_id FROM match_event_current m
                                          WHERE m.player_id = ANY($1::bigint[])
                                             OR m.assist_player_id = ANY($1::bigint[])))",
                        bigint_array(renamed_players_));
    }
}

}  // namespace ftlfeed::capture
