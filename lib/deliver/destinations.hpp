#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/store/lease_keeper.hpp>
#include <ftlfeed/store/session.hpp>

#include "deliver/destination.hpp"
#include "deliver/document_news.hpp"
#include "deliver/roster.hpp"

namespace ftlfeed::deliver {

/// The destinations of ours in memory, kept in step with the tables. Threads: confined to the dispatcher's.
class Destinations {
public:
    /// `is_enabled`: clients' destinations too, not our own cache alone.
    Destinations(std::string worker, std::chrono::milliseconds ttl, bool is_enabled, core::Clock& clock,
                 const store::LeaseKeeper& lease)
        : worker_(std::move(worker)),
          ttl_(ttl),
          is_enabled_(is_enabled),
          clock_(clock),
          lease_(lease),
          roster_(worker_, ttl) {}

    /// Looks at settings, leases and owners: takes what may be taken, reloads what changed, drops what is off or not
    /// ours any more, raises and clears the alerts of those that are behind.
    void look(store::Session& session);
    /// The next look compares every destination with the tables: what was notified is lost.
    void compare_all() { must_compare_all_ = true; }
    /// Owes news to every destination that wants them.
    void owe(const std::vector<DocumentSeen>& news);

    void for_each(const std::function<void(const std::shared_ptr<Destination>&)>& visit) const;
    [[nodiscard]] std::size_t size() const { return known_.size(); }

private:
    struct Known {
        std::shared_ptr<Destination> destination;
        std::string txid;  ///< Of the settings that it works with.
        std::optional<bool> is_behind;
    };
    void drop(AssignmentId id);
    void drop_all_but(const std::set<AssignmentId>& ours);
    void claim(store::Session& session, const Roster::Move& move, const WorkerIdentity& us,
               const DestinationsSeen& seen);
    /// Makes or reloads destinations and compares each. `last_alive`: of the owner before us, at a take-over.
    void load(store::Session& session, const std::vector<DestinationRow>& rows,
              std::optional<core::SteadyTime> last_alive);
    void compare(store::Session& session, Destination& destination, const DestinationSettings& settings,
                 std::optional<core::SteadyTime> last_alive);
    void note_behind(store::Session& session, core::SystemTime now);
    /// A receiver had switched them off, and somebody has switched them on again.
    static void clear_switched_off(store::Session& session, const std::vector<DestinationRow>& rows);
    void clear_alerts_of_off(store::Session& session, const DestinationsSeen& seen);

    const std::string worker_;
    const std::chrono::milliseconds ttl_;
    const bool is_enabled_;
    core::Clock& clock_;
    const store::LeaseKeeper& lease_;
    Roster roster_;
    bool must_compare_all_ = false;
    std::map<AssignmentId, Known> known_;
    std::set<AssignmentId> off_;  ///< Whose alerts were cleared already.
};

}  // namespace ftlfeed::deliver
