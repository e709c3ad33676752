#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/capture/snapshot.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::capture {

/// An event as it goes into a row of `match_events` or `match_event_revision`; ids are our own.
struct EventRow {
    const EventSnapshot* event = nullptr;
    const char* revision_kind = "corrected";  ///< Where it becomes a revision.
    std::int64_t match_event_id = 0;          ///< Of the row that a revision belongs to; 0 for a new event.
    std::optional<Side> team_side;
    std::optional<std::int64_t> participant_id;
    std::optional<std::int64_t> player_id;
    std::optional<std::int64_t> assist_player_id;
};

/// What all rows of one answer share.
struct RowContext {
    std::string provider;
    std::int64_t fixture_id = 0;  ///< Our own.
    const char* source = "";
    std::int64_t ticket = 0;
    bool may_bump = false;
};

/// Inserts events in the order of their ids in one statement; those that are there already stay as they are. Returns the
/// provider's ids of the new ones.
[[nodiscard]] std::vector<std::int64_t> insert_events(pqxx::transaction_base& tx, const RowContext& context,
                                                      const std::vector<EventRow>& rows);
/// Appends a revision to each. Returns the revision by the provider's event id.
[[nodiscard]] std::map<std::int64_t, std::int64_t> insert_revisions(pqxx::transaction_base& tx,
                                                                    const RowContext& context,
                                                                    const std::vector<EventRow>& rows);

/// Appends a revision `withdrawn` to each of these events of ours, with the content that it had. Returns the revision by
/// the provider's event id.
[[nodiscard]] std::map<std::int64_t, std::int64_t> insert_withdrawals(pqxx::transaction_base& tx,
                                                                      const RowContext& context,
                                                                      const std::vector<std::int64_t>& match_event_ids);

/// Runs `insert` with all rows; when Postgres refuses the payload of some, finds them by bisection, each try in a
/// savepoint, hands them to `refused` and has the others inserted.
void insert_piecewise(pqxx::transaction_base& tx, const std::vector<EventRow>& rows,
                      const std::function<void(const std::vector<EventRow>&)>& insert,
                      const std::function<void(const EventRow&, const std::string& reason)>& refused);

}  // namespace ftlfeed::capture
