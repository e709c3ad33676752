#include <doctest/doctest.h>

#include <ftlfeed/capture/bump_ledger.hpp>
#include <ftlfeed/core/failure.hpp>

#include "builders.hpp"
#include "support/rng.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

namespace {

const std::vector<BumpRule> kRules{{kGoal, BumpRole::kScorer, 500},    {kGoal, BumpRole::kAssist, 200},
                                   {kGoal, BumpRole::kTeam, 100},      {kGoal, BumpRole::kOpponent, -100},
                                   {kOwnGoal, BumpRole::kScorer, 999}, {kOwnGoal, BumpRole::kOwnGoal, -300},
                                   {kOwnGoal, BumpRole::kTeam, 100},   {kOwnGoal, BumpRole::kOpponent, -100}};

InstrumentRef team(std::int64_t id) { return {InstrumentRef::Kind::kTeam, id}; }
InstrumentRef player(std::int64_t id) { return {InstrumentRef::Kind::kPlayer, id}; }

}  // namespace

TEST_CASE("capture.ledger: a goal bumps scorer and assist and both teams") {
    auto row = goal(1, kAwayTeam, 201, 10);
    row.related_player = NamedRef{202, "Player 202"};
    CHECK(wanted_bumps(fixture(), row, Side::kAway, kRules) ==
          std::vector<WantedBump>{{player(201), BumpRole::kScorer, 500},
                                  {player(202), BumpRole::kAssist, 200},
                                  {team(kAwayTeam), BumpRole::kTeam, 100},
                                  {team(kHomeTeam), BumpRole::kOpponent, -100}});
}

TEST_CASE("B15: who scores an own goal gets its own-goal effect and no scorer bump") {
    const auto row = event(1, kOwnGoal, kHomeTeam, 101, 30);
    CHECK(wanted_bumps(fixture(), row, Side::kAway, kRules) ==
          std::vector<WantedBump>{{player(101), BumpRole::kOwnGoal, -300},
                                  {team(kAwayTeam), BumpRole::kTeam, 100},
                                  {team(kHomeTeam), BumpRole::kOpponent, -100}});
    // Nobody knows yet whose goal it is: the teams wait, the player does not.
    CHECK(wanted_bumps(fixture(), row, std::nullopt, kRules).size() == 1);
}

TEST_CASE("capture.ledger: a rescinded event and a type without rules are worth nothing") {
    auto row = goal(1, kHomeTeam, 101, 10);
    row.rescinded = true;
    CHECK(wanted_bumps(fixture(), row, Side::kHome, kRules).empty());
    CHECK(wanted_bumps(fixture(), event(1, kRedCard, kHomeTeam, 101, 10), Side::kHome, kRules).empty());
}

TEST_CASE("capture.ledger: the next entry is what is wanted minus the net of what is stored") {
    const LedgerKey scorer{1, 7, BumpRole::kScorer};
    const LedgerKey other{1, 8, BumpRole::kScorer};
    CHECK(next_entries({{scorer, 500}}, {}) == std::vector<LedgerEntry>{{scorer, 0, 500}});
    CHECK(next_entries({{scorer, 500}}, {{scorer, {500, 1}}}).empty());
    // A corrected scorer: one reversal, one bump.
    CHECK(next_entries({{other, 500}}, {{scorer, {500, 1}}}) ==
          std::vector<LedgerEntry>{{scorer, 1, -500}, {other, 0, 500}});
    // A reversal seen again finds nothing left to reverse.
    CHECK(next_entries({}, {{scorer, {0, 2}}}).empty());
}

TEST_CASE("capture.ledger: two roles on one instrument are two entries") {
    const LedgerKey team_role{1, 7, BumpRole::kTeam};
    const LedgerKey scorer{1, 7, BumpRole::kScorer};
    CHECK(next_entries({{scorer, 500}, {team_role, 100}}, {}) ==
          std::vector<LedgerEntry>{{scorer, 0, 500}, {team_role, 0, 100}});
}

TEST_CASE("capture.ledger: applying the difference always ends at what is wanted and a second time at nothing") {
    FTL_RNG(rng);
    for (int round = 0; round < 500; ++round) {
        std::map<LedgerKey, std::int64_t> wanted;
        std::map<LedgerKey, LedgerStand> stored;
        for (std::int64_t i = 0; i < 6; ++i) {
            const LedgerKey key{rng.between(1, 3), rng.between(1, 3), static_cast<BumpRole>(rng.between(0, 4))};
            if (rng.chance(0.5)) wanted[key] = rng.between(-2, 2) * 100;
            if (rng.chance(0.5)) stored[key] = {rng.between(-2, 2) * 100, static_cast<std::int32_t>(rng.between(1, 4))};
        }
        for (const auto& entry : next_entries(wanted, stored)) {
            CHECK(entry.micro != 0);
            auto& stand = stored[entry.key];
            CHECK(entry.entry == stand.entries);
            stand = {stand.net + entry.micro, stand.entries + 1};
        }
        for (const auto& [key, stand] : stored) {
            const auto found = wanted.find(key);
            CHECK(stand.net == (found == wanted.end() ? 0 : found->second));
        }
        CHECK(next_entries(wanted, stored).empty());
    }
}

TEST_CASE("capture.ledger: an unknown role is refused with the known ones") {
    CHECK_THROWS_AS(static_cast<void>(parse_role("keeper")), ftlfeed::core::InvalidInput);
    for (const auto role :
         {BumpRole::kScorer, BumpRole::kOwnGoal, BumpRole::kAssist, BumpRole::kTeam, BumpRole::kOpponent}) {
        CHECK(parse_role(role_name(role)) == role);
    }
}
