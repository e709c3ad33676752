#include "capture/fixture_transaction.hpp"

#include <algorithm>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/capture/bump_ledger.hpp>
#include <ftlfeed/capture/vocabulary.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/outbox/touch.hpp>

namespace ftlfeed::capture {

FixtureTransaction::FixtureTransaction(pqxx::transaction_base& tx, std::string provider, Ingest::Options options,
                                       const FixtureSnapshot& snapshot, const Asked& asked, InsertMode mode)
    : tx_(tx),
      provider_(std::move(provider)),
      options_(options),
      snapshot_(snapshot),
      digest_(core::hex(digest(snapshot))),
      asked_(asked),
      mode_(mode),
      directory_(tx, provider_),
      quarantine_(tx, provider_),
      stored_(tx, provider_) {}

StoreResult FixtureTransaction::run() {
    if (!lock_row() && !insert_row()) {
        result_.outcome = StoreResult::Outcome::kUnmapped;
        return result_;
    }
    is_newer_ = asked_.ticket >= row_.ticket;
    // An incomplete fixture is looked at again: a quarantined payload may have changed where the digest does not see it.
    // So is one with open questions, which another answer of the same content may settle.
    if (is_newer_ && row_.digest == digest_ && !row_.is_incomplete && !row_.has_open_questions) {
        keep_row(asked_.ticket);
        return result_;
    }
    fill_in_teams();
    // An older answer cannot know whether the match went on.
    is_open_ = is_newer_ ? is_open_for_bumps(row_.is_over(asked_.provider_time), row_.state_id, snapshot_.is_terminal,
                                             snapshot_.state_id)
                         : !row_.is_over(asked_.provider_time);
    compare_with_stored();
    sides_ = decide_sides(snapshot_, stored_.sides());
    load_directory();
    store_events();
    withdraw();
    move_ledger();
    for (const auto& rejected : snapshot_.rejected) refuse(rejected.id, rejected.raw, rejected.reason);
    const bool is_changed = update_row() || is_new_row_ || !new_ids_.empty() || !revisions_.empty();
    directory_.touch_renamed();
    if (is_changed) {
        outbox::touch(tx_, {"fixture", std::to_string(snapshot_.id), row_.event_code});
        if (is_newer_) warn_of_state();
    }
    result_.outcome = is_changed ? StoreResult::Outcome::kStored : StoreResult::Outcome::kUnchanged;
    return result_;
}

bool FixtureTransaction::lock_row() {
    auto row = lock_fixture(tx_, provider_, snapshot_.id);
    if (row) row_ = std::move(*row);
    return row.has_value();
}

bool FixtureTransaction::insert_row() {
    // Another transaction may insert it at this moment: then this waits for it, and locks its row.
    is_new_row_ = insert_fixture(tx_, provider_, snapshot_);
    return lock_row();
}

/// A stored fixture does not lose its teams by an answer without them: sides and bumps would be reversed for nothing.
void FixtureTransaction::fill_in_teams() {
    if (!snapshot_.home) snapshot_.home = row_.home;
    if (!snapshot_.away) snapshot_.away = row_.away;
}

/// From here on an event of the answer goes by the id of its happening, whatever id the provider gives it now.
void FixtureTransaction::compare_with_stored() {
    if (is_new_row_) return;
    stored_.load(row_.id);
    const AnswerView answer{snapshot_, row_.score, asked_.is_by_id, options_.absences_max, !is_newer_};
    const auto found = find_happenings(stored_.happenings(), answer);
    if (!is_newer_) {
        // It changes nothing that is known: an id that was linked since stays where it is.
        std::erase_if(snapshot_.events, [&](const EventSnapshot& event) { return found.is_parted(event.id); });
    }
    for (auto& event : snapshot_.events) {
        const auto known = found.happening_of.find(event.id);
        if (known != found.happening_of.end()) event.id = known->second;
    }
    std::sort(snapshot_.events.begin(), snapshot_.events.end(),
              [](const EventSnapshot& a, const EventSnapshot& b) { return a.id < b.id; });
    if (!is_newer_) return;
    findings_ = found;
    stored_.keep(findings_, asked_.ticket);
}

/// The participant of an own goal may be either team: whose player it was follows from the side whose score grew.
DirectoryRows::const_iterator FixtureTransaction::team_of_player(const EventSnapshot& event) const {
    if (event.type_id != kOwnGoal) return event.participant_id ? teams_.find(*event.participant_id) : teams_.end();
    const auto side = sides_.find(event.id);
    if (side == sides_.end()) return teams_.end();
    const auto& team = side->second == Side::kHome ? snapshot_.away : snapshot_.home;
    return team ? teams_.find(team->id) : teams_.end();
}

void FixtureTransaction::load_directory() {
    std::map<std::int64_t, std::string> teams;
    for (const auto& team : {snapshot_.home, snapshot_.away}) {
        if (team) teams[team->id] = team->name;
    }
    teams_ = directory_.teams(teams, is_newer_);

    std::map<std::int64_t, PlayerEntry> players;
    const auto add = [&](const std::optional<NamedRef>& player, std::int64_t team_id) {
        if (!player) return;
        auto& entry = players[player->id];
        if (player->name.size() > entry.name.size()) entry.name = player->name;
        if (entry.team_id == 0) entry.team_id = team_id;
    };
    for (const auto& event : snapshot_.events) {
        const auto team = team_of_player(event);
        const auto team_id = team == teams_.end() ? 0 : team->second.id;
        add(event.player, team_id);
        add(event.related_player, team_id);
    }
    players_ = directory_.players(players, is_newer_);
}

EventRow FixtureTransaction::event_row(const EventSnapshot& event) const {
    EventRow row;
    row.event = &event;
    if (const auto* stored = stored_.find(event.id)) {
        row.match_event_id = stored->match_event_id;
        row.revision_kind = revision_kind(event, *stored);
    }
    if (const auto side = sides_.find(event.id); side != sides_.end()) row.team_side = side->second;
    if (event.participant_id) {
        if (const auto team = teams_.find(*event.participant_id); team != teams_.end()) {
            row.participant_id = team->second.id;
        }
    }
    if (event.player) row.player_id = players_.at(event.player->id).id;
    if (event.related_player) row.assist_player_id = players_.at(event.related_player->id).id;
    return row;
}

void FixtureTransaction::store_events() {
    std::vector<EventRow> fresh;
    std::vector<EventRow> changed;
    std::vector<std::string> payload_hashes;
    for (const auto& event : snapshot_.events) {
        auto row = event_row(event);
        const auto* stored = stored_.find(event.id);
        const auto is_changed = [&] {
            return stored->happening.is_withdrawn ||
                   stored->content_hash != core::hex(content_hash(event, row.team_side));
        };
        if (stored == nullptr) {
            fresh.push_back(row);
        } else if (is_newer_ && is_changed()) {
            changed.push_back(row);
        } else {
            continue;
        }
        if (row_.is_incomplete) payload_hashes.push_back(core::sha256_hex(event.raw));
    }
    // What lies in quarantine is tried again when its payload changes, not with every answer.
    const auto quarantined = quarantine_.known(payload_hashes);
    const auto lies_there = [&](const EventRow& row) {
        if (quarantined.empty() || !quarantined.contains(core::sha256_hex(row.event->raw))) return false;
        has_refused_ = true;
        return true;
    };
    std::erase_if(fresh, lies_there);
    std::erase_if(changed, lies_there);
    insert_new(fresh);
    insert_changed(changed);
    result_.events_new = static_cast<int>(new_ids_.size());
    result_.revisions = static_cast<int>(revisions_.size());
}

RowContext FixtureTransaction::row_context(bool may_bump) const {
    return {provider_, row_.id, source_name(asked_.source), asked_.ticket, may_bump};
}

void FixtureTransaction::insert_new(const std::vector<EventRow>& rows) {
    const auto context = row_context(is_open_);
    const auto insert = [&](const std::vector<EventRow>& part) {
        for (const auto id : insert_events(tx_, context, part)) new_ids_.insert(id);
    };
    if (mode_ == InsertMode::kWhole) return insert(rows);
    insert_piecewise(tx_, rows, insert, [&](const EventRow& row, const std::string& reason) {
        refuse(row.event->id, row.event->raw, reason);
    });
}

void FixtureTransaction::insert_changed(const std::vector<EventRow>& rows) {
    const auto context = row_context(false);
    const auto insert = [&](const std::vector<EventRow>& part) {
        revisions_.merge(insert_revisions(tx_, context, part));
    };
    if (mode_ == InsertMode::kWhole) return insert(rows);
    insert_piecewise(tx_, rows, insert, [&](const EventRow& row, const std::string& reason) {
        refuse(row.event->id, row.event->raw, reason);
    });
}

const char* FixtureTransaction::revision_kind(const EventSnapshot& event, const StoredEvent& stored) const {
    if (stored.happening.is_withdrawn) return "reinstated";
    const auto is_linked = std::any_of(findings_.linked.begin(), findings_.linked.end(),
                                       [&](const Reissue& link) { return link.happening == event.id; });
    return is_linked ? "reissued" : "corrected";
}

void FixtureTransaction::withdraw() {
    std::vector<std::int64_t> ids;
    for (const auto id : findings_.withdrawn) ids.push_back(stored_.find(id)->match_event_id);
    const auto context = row_context(false);
    auto withdrawals = insert_withdrawals(tx_, context, ids);
    result_.withdrawals = static_cast<int>(withdrawals.size());
    result_.revisions += result_.withdrawals;
    revisions_.merge(withdrawals);
}

void FixtureTransaction::refuse(std::optional<std::int64_t> event_id, const std::string& payload,
                                const std::string& reason) {
    has_refused_ = true;
    if (quarantine_.keep({snapshot_.id, event_id, payload, reason})) ++result_.quarantined;
}

/// New bumps until the fixture is over; from then on only reversals, and re-bumps of events that were bumped before.
bool FixtureTransaction::may_bump_now(std::int64_t provider_event_id, const std::set<std::int64_t>& bumped) const {
    if (new_ids_.contains(provider_event_id)) return is_open_;
    const auto* stored = stored_.find(provider_event_id);
    if (stored == nullptr || !revisions_.contains(provider_event_id)) return false;
    return stored->may_bump && (is_open_ || bumped.contains(provider_event_id));
}

void FixtureTransaction::move_ledger() {
    std::vector<std::int64_t> changed;
    for (const auto& [id, revision] : revisions_) {
        const bool is_kept = options_.on_withdrawal == OnWithdrawal::kKeep && findings_.withdrawn.contains(id);
        if (!is_kept) changed.push_back(id);
    }
    if (new_ids_.empty() && changed.empty()) return;
    BumpLedger ledger(tx_, provider_);
    const auto rules = ledger.rules(row_.event_id);
    const auto stored = ledger.stand(row_.id, changed);
    std::set<std::int64_t> bumped;
    for (const auto& [key, stand] : stored) bumped.insert(key.provider_event_id);

    std::map<LedgerKey, std::int64_t> wanted;
    for (const auto& event : snapshot_.events) {
        if (!may_bump_now(event.id, bumped)) continue;
        const auto side = sides_.find(event.id);
        const auto team_side = side == sides_.end() ? std::nullopt : std::optional(side->second);
        for (const auto& bump : wanted_bumps(snapshot_, event, team_side, rules)) {
            const auto& rows = bump.instrument.kind == InstrumentRef::Kind::kTeam ? teams_ : players_;
            wanted[{event.id, rows.at(bump.instrument.provider_id).instrument_id, bump.role}] += bump.micro;
        }
    }
    const auto entries = next_entries(wanted, stored);
    const bool moves_totals = !row_.is_settled || options_.bump_after_settlement;
    ledger.append(entries, {row_.id, revisions_, row_.is_settled, moves_totals});
    result_.ledger_entries = static_cast<int>(entries.size());
}

/// Returns whether anything that readers see has changed.
bool FixtureTransaction::update_row() {
    if (!is_newer_) {
        keep_row(row_.ticket);
        return false;
    }
    const bool is_incomplete = has_refused_;
    if (row_.is_incomplete && !is_incomplete) quarantine_.release(snapshot_.id);
    const auto id_of = [&](const std::optional<NamedRef>& team) {
        return team ? std::optional(teams_.at(team->id).id) : std::nullopt;
    };
    const FixtureUpdate update{.snapshot = snapshot_,
                               .home_id = id_of(snapshot_.home),
                               .away_id = id_of(snapshot_.away),
                               .digest = digest_,
                               .ticket = asked_.ticket,
                               .is_incomplete = is_incomplete,
                               .has_open_questions = findings_.has_open_questions,
                               .is_score_explained = is_score_explained(snapshot_, sides_),
                               .provider_time = asked_.provider_time,
                               .quiet = options_.quiet};
    const auto updated = update_fixture(tx_, row_, update);
    result_.row_version = updated.row_version;
    result_.is_terminal = snapshot_.is_terminal;
    result_.is_over = updated.is_over;
    result_.is_incomplete = is_incomplete;
    result_.has_open_questions = findings_.has_open_questions;
    return updated.is_changed;
}

/// The row stays as it is, but for the order of answers.
void FixtureTransaction::keep_row(std::int64_t ticket) {
    result_.row_version = note_answer(tx_, row_, ticket);
    result_.is_terminal = row_.is_terminal;
    result_.is_over = row_.is_over(asked_.provider_time);
    result_.is_incomplete = row_.is_incomplete;
    result_.has_open_questions = row_.has_open_questions;
}

void FixtureTransaction::warn_of_state() {
    const auto subject = provider_ + "/" + std::to_string(snapshot_.id);
    constexpr const char* kKind = "capture.unknown_state";
    if (snapshot_.is_known_state) {
        if (!row_.is_known_state) alert::clear(tx_, kKind, subject);
        return;
    }
    alert::raise(tx_, {kKind, subject, alert::Severity::kWarning,
                       "state " + std::to_string(snapshot_.state_id) + " (" + core::shorten(snapshot_.state, 100) +
                           ") is not known: kept as it is, the match counts as not over"});
}

}  // namespace ftlfeed::capture
