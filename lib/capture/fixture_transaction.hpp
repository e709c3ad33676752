#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ftlfeed/capture/ingest.hpp>
#include <ftlfeed/capture/score_keeper.hpp>
#include <ftlfeed/capture/snapshot.hpp>

#include "capture/directory.hpp"
#include "capture/event_rows.hpp"
#include "capture/fixture_row.hpp"
#include "capture/quarantine.hpp"
#include "capture/stored_events.hpp"

namespace ftlfeed::capture {

/// How rows go in: all at once, or so that a payload which Postgres refuses is found.
enum class InsertMode { kWhole, kPiecewise };

/// One snapshot into one transaction. Locks in this order, so that no two can wait for each other in a circle: the
/// fixture's row, teams, players, events by id, totals by instrument. Made for one run().
class FixtureTransaction {
public:
    FixtureTransaction(pqxx::transaction_base& tx, std::string provider, Ingest::Options options,
                       const FixtureSnapshot& snapshot, const Asked& asked, InsertMode mode);

    StoreResult run();

private:
    [[nodiscard]] bool lock_row();
    [[nodiscard]] bool insert_row();
    void fill_in_teams();
    void compare_with_stored();
    [[nodiscard]] DirectoryRows::const_iterator team_of_player(const EventSnapshot& event) const;
    void load_directory();
    [[nodiscard]] EventRow event_row(const EventSnapshot& event) const;
    void store_events();
    [[nodiscard]] RowContext row_context(bool may_bump) const;
    void insert_new(const std::vector<EventRow>& rows);
    void insert_changed(const std::vector<EventRow>& rows);
    [[nodiscard]] const char* revision_kind(const EventSnapshot& event, const StoredEvent& stored) const;
    void withdraw();
    void refuse(std::optional<std::int64_t> event_id, const std::string& payload, const std::string& reason);
    void move_ledger();
    [[nodiscard]] bool may_bump_now(std::int64_t provider_event_id, const std::set<std::int64_t>& bumped) const;
    [[nodiscard]] bool update_row();
    void keep_row(std::int64_t ticket);
    void warn_of_state();

    pqxx::transaction_base& tx_;
    std::string provider_;
    Ingest::Options options_;
    FixtureSnapshot snapshot_;
    std::string digest_;
    Asked asked_;
    InsertMode mode_;

    FixtureRow row_;  ///< As it was stored before.
    bool is_new_row_ = false;
    bool is_newer_ = true;  ///< Not older than the stored answer: it may change what is known.
    bool is_open_ = true;   ///< New events may be bumped.
    Directory directory_;
    Quarantine quarantine_;
    DirectoryRows teams_;
    DirectoryRows players_;
    StoredEvents stored_;
    Findings findings_;
    TeamSides sides_;
    std::set<std::int64_t> new_ids_;
    std::map<std::int64_t, std::int64_t> revisions_;  ///< By the provider's event id.
    bool has_refused_ = false;
    StoreResult result_;
};

}  // namespace ftlfeed::capture
