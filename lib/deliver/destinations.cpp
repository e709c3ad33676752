#include "deliver/destinations.hpp"

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/log.hpp>

#include "deliver/send_record.hpp"

namespace ftlfeed::deliver {

void Destinations::look(store::Session& session) {
    const auto held = lease_.held();
    if (held.fence == 0) return drop_all_but({});
    auto seen = see_destinations(session);
    if (!is_enabled_) std::erase_if(seen.rows, [](const DestinationRow& row) { return !row.is_built_in; });
    const auto plan = roster_.plan(seen, held.fence, clock_.steady_now());

    std::set<AssignmentId> ours;
    std::vector<DestinationRow> changed;
    for (const auto& row : plan.ours) {
        ours.insert(row.id);
        const auto known = known_.find(row.id);
        if (known == known_.end() || known->second.txid != row.txid || must_compare_all_) changed.push_back(row);
    }
    drop_all_but(ours);
    load(session, changed, std::nullopt);
    must_compare_all_ = false;
    for (const auto& move : plan.moves) {
        claim(session, move, {worker_, held.fence, lease_.holder()}, seen);
    }
    note_behind(session, seen.now);
    clear_alerts_of_off(session, seen);
}

void Destinations::claim(store::Session& session, const Roster::Move& move, const WorkerIdentity& us,
                         const DestinationsSeen& seen) {
    const auto claimed = move.from.empty() ? claim_free(session, move.ids, us)
                                           : take_over(session, move.ids, move.from, move.from_fence, us);
    if (claimed.empty()) return;
    core::log_info("deliver.claimed", {{"destinations", claimed.size()}, {"from", move.from}, {"fence", us.fence}});
    const std::set<AssignmentId> ids(claimed.begin(), claimed.end());
    std::vector<DestinationRow> rows;
    std::copy_if(seen.rows.begin(), seen.rows.end(), std::back_inserter(rows),
                 [&](const DestinationRow& row) { return ids.contains(row.id); });
    load(session, rows, move.last_alive);
}

void Destinations::load(store::Session& session, const std::vector<DestinationRow>& rows,
                        std::optional<core::SteadyTime> last_alive) {
    if (rows.empty()) return;
    std::vector<AssignmentId> ids;
    std::map<AssignmentId, std::string> txids;
    for (const auto& row : rows) {
        ids.push_back(row.id);
        txids[row.id] = row.txid;
    }
    clear_switched_off(session, rows);
    const auto now = clock_.steady_now();
    for (auto& loaded : load_destinations(session, ids)) {
        const auto id = loaded.settings.id;
        const auto settings = std::make_shared<const DestinationSettings>(std::move(loaded.settings));
        auto& known = known_[id];
        if (!known.destination) {
            known.destination = std::make_shared<Destination>(settings, tries_from(loaded.tries, settings->pace, now));
        } else if (known.txid != txids[id]) {
            known.destination->state.with([&](Destination::State& state) {
                state.settings = settings;
                state.is_active = true;  // It may have been off for less than a look.
                state.queue.settings_changed(settings->pace, now);
            });
        }
        // A transaction that changes the settings between the two reads has another txid: it is loaded again.
        known.txid = txids[id];
        compare(session, *known.destination, *settings, last_alive);
    }
}

void Destinations::clear_switched_off(store::Session& session, const std::vector<DestinationRow>& rows) {
    std::set<std::string> off;
    session.read([&](pqxx::transaction_base& tx) {
        for (const auto& row :
             tx.exec_params("SELECT subject FROM alert WHERE kind = $1 AND cleared_at IS NULL", kSwitchedOffAlert)) {
            off.insert(row[0].as<std::string>());
        }
    });
    if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.is_on && off.contains(row.label); })) {
        return;
    }
    session.write([&](pqxx::transaction_base& tx) {
        for (const auto& row : rows) {
            if (row.is_on && off.contains(row.label)) alert::clear(tx, kSwitchedOffAlert, row.label);
        }
    });
}

void Destinations::compare(store::Session& session, Destination& destination, const DestinationSettings& settings,
                           std::optional<core::SteadyTime> last_alive) {
    const auto seen = compare_destination(session, settings);
    const auto now = clock_.steady_now();
    destination.state.with([&](Destination::State& state) {
        for (const auto& file : seen) {
            if (file.is_owed) {
                state.queue.restore(file.key, {file.version, file.changed_at}, file.waiting_since,
                                    tries_from(file.tries, settings.pace, now), now);
            }
            // A send of ours that is under way ends by itself.
            if (!file.is_sending || state.queue.is_under_way(file.key)) continue;
            state.queue.settle_first(file.key, now);
            // The owner before us may have bytes under way still: a second look, when that is over.
            if (last_alive) state.queue.look_again(file.key, look_again_at(settings.limits, *last_alive, ttl_));
        }
    });
}

void Destinations::owe(const std::vector<DocumentSeen>& news) {
    const auto now = clock_.steady_now();
    for (const auto& [id, known] : known_) {
        known.destination->state.with([&](Destination::State& state) {
            for (const auto& document : news) {
                if (!state.settings->wants(document.key)) continue;
                auto version = document.version;
                version.render = state.settings->render;
                state.queue.owe(document.key, {version, document.changed_at}, now);
            }
        });
    }
}

void Destinations::drop(AssignmentId id) {
    const auto known = known_.find(id);
    if (known == known_.end()) return;
    // A send under way asks before it publishes, and is told no.
    known->second.destination->state.with([](Destination::State& state) { state.is_active = false; });
    known_.erase(known);
}

void Destinations::drop_all_but(const std::set<AssignmentId>& ours) {
    std::vector<AssignmentId> gone;
    for (const auto& [id, known] : known_) {
        if (!ours.contains(id)) gone.push_back(id);
    }
    for (const auto id : gone) drop(id);
}

void Destinations::for_each(const std::function<void(const std::shared_ptr<Destination>&)>& visit) const {
    for (const auto& [id, known] : known_) visit(known.destination);
}

void Destinations::note_behind(store::Session& session, core::SystemTime now) {
    struct Change {
        Known* known;
        bool is_behind;
        alert::Alert alert;
    };
    std::vector<Change> changes;
    for (auto& [id, known] : known_) {
        known.destination->state.with([&](Destination::State& state) {
            const auto oldest = state.queue.oldest_change();
            const bool is_behind = oldest && now - *oldest > state.settings->alert_behind;
            if (known.is_behind == is_behind) return;
            const auto seconds = oldest ? std::chrono::duration_cast<std::chrono::seconds>(now - *oldest).count() : 0;
            changes.push_back({&known,
                               is_behind,
                               {kBehindAlert, state.settings->label, alert::Severity::kCritical,
                                "the oldest unsent change is " + std::to_string(seconds) + " s old"}});
        });
    }
    if (changes.empty()) return;
    session.write([&](pqxx::transaction_base& tx) {
        for (const auto& change : changes) {
            if (change.is_behind) {
                alert::raise(tx, change.alert);
            } else {
                alert::clear(tx, change.alert.kind, change.alert.subject);
            }
        }
    });
    for (const auto& change : changes) change.known->is_behind = change.is_behind;
}

void Destinations::clear_alerts_of_off(store::Session& session, const DestinationsSeen& seen) {
    std::vector<const DestinationRow*> newly_off;
    for (const auto& row : seen.rows) {
        if (row.is_on) {
            off_.erase(row.id);
        } else if (!off_.contains(row.id)) {
            newly_off.push_back(&row);
        }
    }
    if (newly_off.empty()) return;
    // A person switched it off and said why: nothing of it is red any more.
    session.write([&](pqxx::transaction_base& tx) {
        for (const auto* row : newly_off) {
            alert::clear(tx, kFailingAlert, row->label);
            alert::clear(tx, kBehindAlert, row->label);
            for (const auto& refused :
                 tx.exec_params("SELECT subject FROM alert WHERE kind = $1 AND cleared_at IS NULL "
                                "AND starts_with(subject, $2)",
                                kFileRefusedAlert, row->label + " ")) {
                alert::clear(tx, kFileRefusedAlert, refused[0].as<std::string>());
            }
        }
    });
    for (const auto* row : newly_off) off_.insert(row->id);
}

}  // namespace ftlfeed::deliver
