#include "deliver/roster.hpp"

#include <utility>

namespace ftlfeed::deliver {

void Roster::watch(const DestinationsSeen& seen, core::SteadyTime now) {
    for (const auto& lease : seen.leases) {
        auto [at, is_new] = workers_.try_emplace(lease.worker, Watched{store::LeaseWatch(ttl_), "", -1, now, false});
        auto& watched = at->second;
        if (is_new || watched.holder != lease.holder || watched.beat != lease.beat) {
            watched.holder = lease.holder;
            watched.beat = lease.beat;
            watched.moved_at = now;
        }
        watched.is_dead = watched.watch.is_stale(lease.holder, lease.beat, now) || lease.holder.empty();
    }
}

Roster::Plan Roster::plan(const DestinationsSeen& seen, std::int64_t fence, core::SteadyTime now) {
    watch(seen, now);
    Plan plan;
    std::map<std::pair<std::string, std::int64_t>, Move> moves;
    for (const auto& row : seen.rows) {
        if (!row.is_on) continue;
        if (row.owner == worker_ && row.owner_fence == fence) {
            plan.ours.push_back(row);
            continue;
        }
        // Our own name under an older fence: the process that held our lease before us. Under a newer one it is *we* who
        // are replaced and do not know it yet.
        const auto owner = workers_.find(row.owner);
        const bool is_predecessors = row.owner == worker_ && row.owner_fence < fence;
        const bool is_dead = row.owner != worker_ && (owner == workers_.end() || owner->second.is_dead);
        if (!row.owner.empty() && !is_predecessors && !is_dead) continue;
        auto& move = moves[{row.owner, row.owner_fence}];
        move.from = row.owner;
        move.from_fence = row.owner_fence;
        move.ids.push_back(row.id);
        // Of our predecessor nothing was seen by us: the careful guess is that it lived until now.
        move.last_alive = row.owner != worker_ && owner != workers_.end() ? owner->second.moved_at : now;
    }
    for (auto& [from, move] : moves) plan.moves.push_back(std::move(move));
    return plan;
}

}  // namespace ftlfeed::deliver
