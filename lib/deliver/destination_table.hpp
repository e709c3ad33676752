#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// What a look at all destinations needs: has it changed, is it on, whose is it?
struct DestinationRow {
    AssignmentId id;
    std::string txid;  ///< Of the last change of its settings: another one means other settings, whatever the order.
    bool is_on = false;
    std::string owner;  ///< Empty = nobody's yet.
    std::int64_t owner_fence = 0;
    std::string label;         ///< `CLIENT/NAME`.
    bool is_built_in = false;  ///< Our own cache, which is served though nothing may leave the house.
};
struct WorkerLease {
    std::string worker;
    std::string holder;  ///< Empty: released.
    std::int64_t beat = 0;
};
struct DestinationsSeen {
    core::SystemTime now;  ///< Postgres's clock.
    std::vector<DestinationRow> rows;
    std::vector<WorkerLease> leases;
};
[[nodiscard]] DestinationsSeen see_destinations(store::Session& session);

/// Settings and the pace that the table keeps.
struct LoadedDestination {
    DestinationSettings settings;
    StoredTries tries;
};
[[nodiscard]] std::vector<LoadedDestination> load_destinations(store::Session& session,
                                                               const std::vector<AssignmentId>& ids);

/// The lease's name of a worker.
[[nodiscard]] std::string lease_name(const std::string& worker);

/// Who acts, checked by the statements that matter.
struct WorkerIdentity {
    std::string worker;
    std::int64_t fence = 0;  ///< Of the worker's lease.
    std::string process;     ///< store::process_identity().
};
/// Takes destinations that are nobody's, or that `from` owned under a fence that was seen; nothing when our lease is no
/// longer ours. Returns those that are ours now. A row changes only here, on a move.
[[nodiscard]] std::vector<AssignmentId> claim_free(store::Session& session, const std::vector<AssignmentId>& ids,
                                                   const WorkerIdentity& us);
[[nodiscard]] std::vector<AssignmentId> take_over(store::Session& session, const std::vector<AssignmentId>& ids,
                                                  const std::string& from, std::int64_t from_fence,
                                                  const WorkerIdentity& us);

}  // namespace ftlfeed::deliver
