#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/capture/snapshot.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::capture {

/// Whom a bump goes to. Two roles on one instrument are two bumps.
enum class BumpRole { kScorer, kOwnGoal, kAssist, kTeam, kOpponent };
[[nodiscard]] const char* role_name(BumpRole role);
/// Throws core::InvalidInput.
[[nodiscard]] BumpRole parse_role(const std::string& name);

/// A row of `bump_rule`: what an event of a type is worth to a role, in micro units.
struct BumpRule {
    std::int32_t type_id = 0;
    BumpRole role = BumpRole::kScorer;
    std::int64_t micro = 0;
};

/// An instrument by what it stands for.
struct InstrumentRef {
    enum class Kind { kTeam, kPlayer } kind = Kind::kTeam;
    std::int64_t provider_id = 0;
    auto operator<=>(const InstrumentRef&) const = default;
};

struct WantedBump {
    InstrumentRef instrument;
    BumpRole role = BumpRole::kScorer;
    std::int64_t micro = 0;
    auto operator<=>(const WantedBump&) const = default;
};
/// What an event is worth now. An own goal is no goal of its player: role scorer never applies to it, role own_goal to
/// nothing else. Team and opponent need a known side. A rescinded event is worth nothing. Pure.
[[nodiscard]] std::vector<WantedBump> wanted_bumps(const FixtureSnapshot& fixture, const EventSnapshot& event,
                                                   std::optional<Side> team_side, const std::vector<BumpRule>& rules);

/// Where the ledger stands with one (instrument, role) of an event.
struct LedgerKey {
    std::int64_t provider_event_id = 0;
    std::int64_t instrument_id = 0;
    BumpRole role = BumpRole::kScorer;
    auto operator<=>(const LedgerKey&) const = default;
};
struct LedgerStand {
    std::int64_t net = 0;
    std::int32_t entries = 0;
};
struct LedgerEntry {
    LedgerKey key;
    std::int32_t entry = 0;
    std::int64_t micro = 0;
    bool operator==(const LedgerEntry&) const = default;
};
/// Wanted minus net, where it is not 0, as the next entry; what is stored and no longer wanted is reversed. Sorted by
/// key. Applying the result and asking again gives nothing. Pure.
[[nodiscard]] std::vector<LedgerEntry> next_entries(const std::map<LedgerKey, std::int64_t>& wanted,
                                                    const std::map<LedgerKey, LedgerStand>& stored);

/// The ledger of one fixture. Use it under the fixture's row lock, in the fixture's transaction.
class BumpLedger {
public:
    struct Cause {
        std::int64_t fixture_id = 0;                     ///< Our own id.
        std::map<std::int64_t, std::int64_t> revisions;  ///< By provider event id; none: as first recorded.
        bool is_settled = false;                         ///< Entries are flagged.
        bool moves_totals = true;                        ///< False: flagged entries that reach no total.
    };
    BumpLedger(pqxx::transaction_base& tx, std::string provider) : tx_(tx), provider_(std::move(provider)) {}

    [[nodiscard]] std::vector<BumpRule> rules(std::int64_t event_id);
    /// The stored entries of these events.
    [[nodiscard]] std::map<LedgerKey, LedgerStand> stand(std::int64_t fixture_id,
                                                         const std::vector<std::int64_t>& provider_event_ids);
    /// Writes the entries, moves the totals (sums per instrument, rows locked in the order of their ids) and a
    /// price_tick for each instrument moved.
    void append(const std::vector<LedgerEntry>& entries, const Cause& cause);

private:
    pqxx::transaction_base& tx_;
    std::string provider_;
};

}  // namespace ftlfeed::capture
