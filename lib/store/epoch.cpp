#include <ftlfeed/store/epoch.hpp>

#include <optional>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::store {

namespace {

struct StoredEpoch {
    ClusterIdentity cluster;
    std::int64_t epoch = 0;
};

/// More moves at once than there can be connections.
constexpr int kLooksMax = 1000;

// The timeline of the control file is that of the last checkpoint, which a promotion does not wait for: the name of the
// file that is being written tells the present one.
constexpr auto kIdentify =
    "SELECT system_identifier, ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int "
    "FROM pg_control_system()";

constexpr auto kUnixSeconds = "extract(epoch FROM clock_timestamp())::bigint";

std::optional<StoredEpoch> read_stored(pqxx::transaction_base& tx) {
    const auto rows = tx.exec("SELECT system_identifier, timeline, epoch FROM cluster_epoch");
    if (rows.empty()) return std::nullopt;
    return StoredEpoch{{rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int32_t>()}, rows[0][2].as<std::int64_t>()};
}

/// Nothing stored yet: the first one in. Returns nothing when another was faster.
std::optional<std::int64_t> insert_first(pqxx::transaction_base& tx, const ClusterIdentity& now) {
    const auto rows = tx.exec_params(std::string("INSERT INTO cluster_epoch (system_identifier, timeline, epoch) ") +
                                         "VALUES ($1, $2, " + kUnixSeconds + ") ON CONFLICT DO NOTHING RETURNING epoch",
                                     now.system_identifier, now.timeline);
    if (rows.empty()) return std::nullopt;
    return rows[0][0].as<std::int64_t>();
}

/// Compare-and-set: returns the new epoch, or nothing when another has moved it since `stored` was read. All that carries
/// an epoch moves in the same transaction; feed_document's txid too, or those who look there for news would miss it.
std::optional<std::int64_t> move_on(pqxx::transaction_base& tx, const StoredEpoch& stored, const ClusterIdentity& now,
                                    std::int64_t above = 0) {
    const auto rows =
        tx.exec_params(std::string("UPDATE cluster_epoch SET system_identifier = $1, timeline = $2, ") +
                           "moved_at = clock_timestamp(), epoch = greatest(epoch + 1, $6::bigint + 1, " + kUnixSeconds +
                           ") WHERE system_identifier = $3 AND timeline = $4 AND epoch = $5 RETURNING epoch",
                       now.system_identifier, now.timeline, stored.cluster.system_identifier, stored.cluster.timeline,
                       stored.epoch, above);
    if (rows.empty()) return std::nullopt;
    const auto epoch = rows[0][0].as<std::int64_t>();
    tx.exec_params("UPDATE feed_document SET epoch = $1, txid = pg_current_xact_id()", epoch);
    tx.exec_params("UPDATE instrument_bump SET epoch = $1", epoch);
    return epoch;
}

void log_move(std::int64_t epoch, const ClusterIdentity& cluster) {
    core::log_warning(
        "store.epoch_moved",
        {{"epoch", epoch}, {"system_identifier", cluster.system_identifier}, {"timeline", cluster.timeline}});
}

}  // namespace

ClusterIdentity identify_cluster(Session& session) {
    ClusterIdentity identity;
    session.read([&](pqxx::transaction_base& tx) {
        const auto rows = tx.exec(kIdentify);
        identity = {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int32_t>()};
    });
    return identity;
}

EpochCheck check_epoch(Session& session) {
    const auto now = identify_cluster(session);
    for (int look = 0; look < kLooksMax; ++look) {
        std::optional<StoredEpoch> stored;
        session.read([&](pqxx::transaction_base& tx) { stored = read_stored(tx); });
        if (stored && stored->cluster == now) return {stored->epoch, false};
        std::optional<std::int64_t> moved;
        session.write_retrying(
            [&](pqxx::transaction_base& tx) { moved = stored ? move_on(tx, *stored, now) : insert_first(tx, now); });
        if (!moved) continue;
        log_move(*moved, now);
        return {*moved, true};
    }
    throw core::Failure::busy("the epoch moves faster than it can be read");
}

std::int64_t force_epoch(Session& session, std::int64_t above) {
    const auto before = check_epoch(session);
    if (before.moved && before.epoch > above) return before.epoch;
    const auto now = identify_cluster(session);
    std::optional<std::int64_t> moved;
    session.write_retrying([&](pqxx::transaction_base& tx) { moved = move_on(tx, {now, before.epoch}, now, above); });
    // Whoever was faster moved it for us.
    if (!moved) return check_epoch(session).epoch;
    log_move(*moved, now);
    return *moved;
}

}  // namespace ftlfeed::store
