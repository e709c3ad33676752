#include <ftlfeed/capture/bump_ledger.hpp>

#include <array>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <utility>

#include <ftlfeed/capture/vocabulary.hpp>
#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/value.hpp>

#include "capture/sql_text.hpp"

namespace ftlfeed::capture {
namespace {

constexpr std::array<std::pair<BumpRole, const char*>, 5> kRoles{{{BumpRole::kScorer, "scorer"},
                                                                  {BumpRole::kOwnGoal, "own_goal"},
                                                                  {BumpRole::kAssist, "assist"},
                                                                  {BumpRole::kTeam, "team"},
                                                                  {BumpRole::kOpponent, "opponent"}}};

std::optional<InstrumentRef> team_instrument(const FixtureSnapshot& fixture, std::optional<Side> side) {
    if (!side) return std::nullopt;
    const auto& team = *side == Side::kHome ? fixture.home : fixture.away;
    if (!team) return std::nullopt;
    return InstrumentRef{InstrumentRef::Kind::kTeam, team->id};
}

std::optional<InstrumentRef> player_instrument(const std::optional<NamedRef>& player) {
    if (!player) return std::nullopt;
    return InstrumentRef{InstrumentRef::Kind::kPlayer, player->id};
}

std::optional<InstrumentRef> instrument_of(BumpRole role, const FixtureSnapshot& fixture, const EventSnapshot& event,
                                           std::optional<Side> side) {
    const bool is_own_goal = event.type_id == kOwnGoal;
    switch (role) {
        case BumpRole::kScorer:
            return is_own_goal ? std::nullopt : player_instrument(event.player);
        case BumpRole::kOwnGoal:
            return is_own_goal ? player_instrument(event.player) : std::nullopt;
        case BumpRole::kAssist:
            return player_instrument(event.related_player);
        case BumpRole::kTeam:
            return team_instrument(fixture, side);
        case BumpRole::kOpponent:
            return team_instrument(fixture, side ? std::optional(other(*side)) : std::nullopt);
    }
    return std::nullopt;
}

}  // namespace

const char* role_name(BumpRole role) {
    for (const auto& [known, name] : kRoles) {
        if (known == role) return name;
    }
    core::assertion_failed("role is one of BumpRole");
}

BumpRole parse_role(const std::string& name) {
    for (const auto& [role, known] : kRoles) {
        if (name == known) return role;
    }
    throw core::InvalidInput("\"" + name + "\" is no role: scorer, own_goal, assist, team, opponent");
}

std::vector<WantedBump> wanted_bumps(const FixtureSnapshot& fixture, const EventSnapshot& event,
                                     std::optional<Side> team_side, const std::vector<BumpRule>& rules) {
    std::vector<WantedBump> wanted;
    if (event.rescinded == true) return wanted;
    for (const auto& rule : rules) {
        if (rule.type_id != event.type_id || rule.micro == 0) continue;
        const auto instrument = instrument_of(rule.role, fixture, event, team_side);
        if (instrument) wanted.push_back({*instrument, rule.role, rule.micro});
    }
    return wanted;
}

std::vector<LedgerEntry> next_entries(const std::map<LedgerKey, std::int64_t>& wanted,
                                      const std::map<LedgerKey, LedgerStand>& stored) {
    auto differences = wanted;
    for (const auto& [key, stand] : stored) differences[key] -= stand.net;
    std::vector<LedgerEntry> entries;
    for (const auto& [key, micro] : differences) {
        if (micro == 0) continue;
        const auto before = stored.find(key);
        entries.push_back({key, before == stored.end() ? 0 : before->second.entries, micro});
    }
    return entries;
}

std::vector<BumpRule> BumpLedger::rules(std::int64_t event_id) {
    std::vector<BumpRule> rules;
    for (const auto& row : tx_.exec_params(
             "SELECT type_id, role, micro FROM bump_rule WHERE event_id = $1 ORDER BY type_id, role", event_id)) {
        rules.push_back({row[0].as<std::int32_t>(), parse_role(row[1].as<std::string>()), row[2].as<std::int64_t>()});
    }
    return rules;
}

std::map<LedgerKey, LedgerStand> BumpLedger::stand(std::int64_t fixture_id,
                                                   const std::vector<std::int64_t>& provider_event_ids) {
    std::map<LedgerKey, LedgerStand> stands;
    if (provider_event_ids.empty()) return stands;
    const auto rows = tx_.exec_params(
        R"(SELECT b.provider_event_id, b.instrument_id, b.role, sum(b.micro)::bigint, max(b.entry) + 1
           FROM unnest($3::bigint[]) AS w(id)
           JOIN event_bump_log b ON b.provider = $1 AND b.fixture_id = $2 AND b.provider_event_id = w.id
           GROUP BY b.provider_event_id, b.instrument_id, b.role)",
        provider_, fixture_id, bigint_array(provider_event_ids));
    for (const auto& row : rows) {
        const LedgerKey key{row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), parse_role(row[2].as<std::string>())};
        stands[key] = {row[3].as<std::int64_t>(), row[4].as<std::int32_t>()};
    }
    return stands;
}

namespace {

using Sums = std::map<std::int64_t, std::int64_t>;  // By instrument.

/// Locks the totals in the order of their ids, whatever the order of the events. Returns their seqs.
std::map<std::int64_t, std::int64_t> lock_totals(pqxx::transaction_base& tx, const std::string& instrument_ids) {
    std::map<std::int64_t, std::int64_t> seqs;
    for (const auto& row : tx.exec_params(R"(SELECT instrument_id, seq FROM instrument_bump
                                             WHERE instrument_id = ANY($1::bigint[])
                                             ORDER BY instrument_id FOR UPDATE)",
                                          instrument_ids)) {
        seqs[row[0].as<std::int64_t>()] = row[1].as<std::int64_t>();
    }
    return seqs;
}

/// One step of seq for each instrument, however many entries it has in this transaction. Returns the new seqs.
std::map<std::int64_t, std::int64_t> move_totals(pqxx::transaction_base& tx, const std::string& instrument_ids,
                                                 const std::string& micros) {
    std::map<std::int64_t, std::int64_t> seqs;
    const auto rows = tx.exec_params(
        R"(WITH moved AS (
               UPDATE instrument_bump b
               SET seq = b.seq + 1, total = b.total + d.micro,
                   epoch = greatest(b.epoch, coalesce((SELECT epoch FROM cluster_epoch), 0))
               FROM unnest($1::bigint[], $2::bigint[]) AS d(id, micro)
               WHERE b.instrument_id = d.id
               RETURNING b.instrument_id, b.seq, b.total)
           INSERT INTO price_tick (instrument_id, seq, total)
           SELECT instrument_id, seq, total FROM moved ORDER BY instrument_id
           RETURNING instrument_id, seq)",
        instrument_ids, micros);
    for (const auto& row : rows) seqs[row[0].as<std::int64_t>()] = row[1].as<std::int64_t>();
    return seqs;
}

}  // namespace

void BumpLedger::append(const std::vector<LedgerEntry>& entries, const Cause& cause) {
    if (entries.empty()) return;
    Sums sums;
    for (const auto& entry : entries) sums[entry.key.instrument_id] += entry.micro;
    std::vector<std::int64_t> instruments;
    std::vector<std::int64_t> deltas;
    for (const auto& [instrument, micro] : sums) {
        instruments.push_back(instrument);
        deltas.push_back(micro);
    }
    auto seqs = lock_totals(tx_, bigint_array(instruments));
    FTL_ASSERT(seqs.size() == sums.size());  // Made together with the instrument.
    if (cause.moves_totals) seqs = move_totals(tx_, bigint_array(instruments), bigint_array(deltas));

    std::vector<std::int64_t> events;
    std::vector<std::int64_t> instrument_ids;
    std::vector<std::string> roles;
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> micros;
    std::vector<std::int64_t> revisions;
    std::vector<std::int64_t> entry_seqs;
    for (const auto& entry : entries) {
        const auto revision = cause.revisions.find(entry.key.provider_event_id);
        events.push_back(entry.key.provider_event_id);
        instrument_ids.push_back(entry.key.instrument_id);
        roles.emplace_back(role_name(entry.key.role));
        numbers.push_back(entry.entry);
        micros.push_back(entry.micro);
        revisions.push_back(revision == cause.revisions.end() ? 0 : revision->second);
        entry_seqs.push_back(seqs.at(entry.key.instrument_id));
    }
    tx_.exec_params(
        R"(INSERT INTO event_bump_log (provider, fixture_id, provider_event_id, instrument_id, role, entry, micro,
                                       revision_id, instrument_seq, after_settlement)
           SELECT $1, $2, w.event, w.instrument, w.role, w.entry, w.micro, nullif(w.revision, 0), w.seq, $3
           FROM unnest($4::bigint[], $5::bigint[], $6::text[], $7::int[], $8::bigint[], $9::bigint[], $10::bigint[])
                AS w(event, instrument, role, entry, micro, revision, seq)
           ORDER BY w.event, w.instrument, w.role)",
        provider_, cause.fixture_id, cause.is_settled, bigint_array(events), bigint_array(instrument_ids),
        store::text_array(roles), bigint_array(numbers), bigint_array(micros), bigint_array(revisions),
        bigint_array(entry_seqs));
}

}  // namespace ftlfeed::capture
