#pragma once

#include <map>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/store/lease.hpp>

#include "deliver/destination_table.hpp"

namespace ftlfeed::deliver {

/// Which destinations are ours, which we may take, and from whom. Pure but for its memory of the leases that it saw:
/// a worker counts as dead when its lease was seen unmoved for the TTL by our own steady clock, or was given back.
/// Threads: confined.
class Roster {
public:
    Roster(std::string worker, std::chrono::milliseconds ttl) : worker_(std::move(worker)), ttl_(ttl) {}

    struct Move {
        std::string from;  ///< Empty: nobody's yet.
        std::int64_t from_fence = 0;
        std::vector<AssignmentId> ids;
        core::SteadyTime last_alive;  ///< When the owner's lease was last seen to move.
    };
    struct Plan {
        std::vector<DestinationRow> ours;  ///< On, and owned under our present fence.
        std::vector<Move> moves;           ///< To be claimed.
    };
    /// `fence` is that of our lease, which we hold.
    [[nodiscard]] Plan plan(const DestinationsSeen& seen, std::int64_t fence, core::SteadyTime now);

private:
    struct Watched {
        store::LeaseWatch watch;
        std::string holder;
        std::int64_t beat = -1;
        core::SteadyTime moved_at;
        bool is_dead = false;
    };
    void watch(const DestinationsSeen& seen, core::SteadyTime now);

    std::string worker_;
    std::chrono::milliseconds ttl_;
    std::map<std::string, Watched> workers_;
};

}  // namespace ftlfeed::deliver
