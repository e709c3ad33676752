#pragma once

#include <cstdint>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::store {

/// The cluster as this session sees it.
struct ClusterIdentity {
    std::int64_t system_identifier = 0;
    std::int32_t timeline = 0;
    bool operator==(const ClusterIdentity&) const = default;
};
[[nodiscard]] ClusterIdentity identify_cluster(Session& session);

struct EpochCheck {
    std::int64_t epoch = 0;
    bool moved = false;  ///< True for the one caller whose compare-and-set moved it now.
};
/// Compares the cluster with `cluster_epoch` and moves the epoch on when system identifier or timeline changed:
/// `greatest(stored + 1, unix seconds)`, by compare-and-set, before any outside write. At a move every feed_document
/// and instrument_bump is stamped with the new epoch, seq kept, in the same transaction. Called at every connect.
[[nodiscard]] EpochCheck check_epoch(Session& session);
/// Moves the epoch on although nothing changed: somebody holds a version newer than ours, of epoch `above` or none in
/// particular. The new one is greater than that too.
[[nodiscard]] std::int64_t force_epoch(Session& session, std::int64_t above = 0);

}  // namespace ftlfeed::store
