#include "deliver/roster.hpp"

#include <doctest/doctest.h>

using namespace ftlfeed;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;

namespace {

const core::SteadyTime kNow = core::SteadyTime{} + 1000h;

DestinationRow row(std::int64_t id, const std::string& owner, std::int64_t fence, bool is_on = true) {
    return {{id}, "1", is_on, owner, fence, "acme/x"};
}
DestinationsSeen seen(std::vector<DestinationRow> rows, std::vector<WorkerLease> leases) {
    return {{}, std::move(rows), std::move(leases)};
}

}  // namespace

TEST_CASE("deliver.roster: what is nobody's is taken and what is off is not") {
    Roster roster("me", 5s);
    const auto plan = roster.plan(seen({row(1, "", 0), row(2, "", 0, false), row(3, "me", 4)}, {}), 4, kNow);
    REQUIRE(plan.ours.size() == 1);
    CHECK(plan.ours[0].id == AssignmentId{3});
    REQUIRE(plan.moves.size() == 1);
    CHECK(plan.moves[0].from.empty());
    CHECK(plan.moves[0].ids == std::vector<AssignmentId>{{1}});
}

TEST_CASE(
    "deliver.roster: C20 a worker is replaced only after its lease was seen unmoved for the TTL by our own clock") {
    Roster roster("me", 5s);
    const std::vector<DestinationRow> rows{row(1, "other", 2)};
    CHECK(roster.plan(seen(rows, {{"other", "h", 7}}), 1, kNow).moves.empty());
    CHECK(roster.plan(seen(rows, {{"other", "h", 7}}), 1, kNow + 4999ms).moves.empty());
    CHECK(roster.plan(seen(rows, {{"other", "h", 8}}), 1, kNow + 5000ms).moves.empty());  // It moved.
    CHECK(roster.plan(seen(rows, {{"other", "h", 8}}), 1, kNow + 9999ms).moves.empty());
    const auto plan = roster.plan(seen(rows, {{"other", "h", 8}}), 1, kNow + 10s);
    REQUIRE(plan.moves.size() == 1);
    CHECK(plan.moves[0].from == "other");
    CHECK(plan.moves[0].from_fence == 2);
    CHECK(plan.moves[0].last_alive == kNow + 5s);
}

TEST_CASE("deliver.roster: a lease that was given back or never was is replaced at once") {
    Roster roster("me", 5s);
    CHECK(roster.plan(seen({row(1, "other", 2)}, {{"other", "", 9}}), 1, kNow).moves.size() == 1);
    CHECK(roster.plan(seen({row(1, "ghost", 2)}, {}), 1, kNow).moves.size() == 1);
}

TEST_CASE("deliver.roster: a worker that was replaced without knowing it takes nothing back") {
    Roster roster("me", 5s);
    const auto plan = roster.plan(seen({row(1, "me", 9)}, {{"me", "h", 1}}), 4, kNow);
    CHECK(plan.ours.empty());
    CHECK(plan.moves.empty());
}

TEST_CASE("deliver.roster: what our predecessor of the same name owned is taken over under the new fence") {
    Roster roster("me", 5s);
    const auto plan = roster.plan(seen({row(1, "me", 3)}, {{"me", "h", 1}}), 4, kNow);
    CHECK(plan.ours.empty());
    REQUIRE(plan.moves.size() == 1);
    CHECK(plan.moves[0].from_fence == 3);
    CHECK(plan.moves[0].last_alive == kNow);
}
