#include <doctest/doctest.h>

#include <ftlfeed/capture/score_keeper.hpp>

#include "builders.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

namespace {

EventSnapshot own_goal(std::int64_t id, std::int64_t participant, std::int64_t player) {
    return event(id, kOwnGoal, participant, player, 30);
}

EventSnapshot with_result(EventSnapshot row, int home, int away) {
    row.result = Score{home, away};
    return row;
}

}  // namespace

TEST_CASE("B15: an own goal counts for the side whose score grew in both spellings of the participant") {
    for (const auto participant : {kHomeTeam, kAwayTeam}) {
        CAPTURE(participant);
        const auto by_score = at_score(with(fixture(), {own_goal(801, participant, 201)}), 1, 0);
        CHECK(decide_sides(by_score, {}).at(801) == Side::kHome);
        const auto by_result = at_score(with(fixture(), {with_result(own_goal(801, participant, 201), 1, 0)}), 0, 0);
        CHECK(decide_sides(by_result, {}).at(801) == Side::kHome);
    }
}

TEST_CASE("capture.score: the running result decides whatever the order of ids and minutes") {
    // The own goal of 1-1 was entered before the goal of 1-0.
    const auto snapshot = at_score(with(fixture(), {with_result(own_goal(5, kHomeTeam, 101), 1, 1),
                                                    with_result(goal(9, kHomeTeam, 102, 12), 1, 0)}),
                                   1, 1);
    CHECK(decide_sides(snapshot, {}).at(5) == Side::kAway);
}

TEST_CASE("capture.score: without results the goals that no other event explains decide") {
    const auto snapshot = at_score(
        with(fixture(), {goal(1, kHomeTeam, 101, 10), goal(2, kAwayTeam, 201, 20), own_goal(3, kAwayTeam, 201)}), 1, 2);
    CHECK(decide_sides(snapshot, {}).at(3) == Side::kAway);
}

TEST_CASE("capture.score: an own goal ahead of the score has no side yet and keeps the one it had") {
    const auto ahead = at_score(with(fixture(), {own_goal(801, kAwayTeam, 201)}), 0, 0);
    CHECK_FALSE(decide_sides(ahead, {}).contains(801));
    CHECK(decide_sides(ahead, {{801, Side::kHome}}).at(801) == Side::kHome);
}

TEST_CASE("capture.score: two own goals that each side may profit from are not guessed") {
    const auto snapshot = at_score(with(fixture(), {own_goal(1, kHomeTeam, 101), own_goal(2, kHomeTeam, 102)}), 1, 1);
    CHECK(decide_sides(snapshot, {}).empty());
}

TEST_CASE("capture.score: results that contradict each other decide nothing") {
    // Both predecessors of 2-2 are there; the count must tell, and here it cannot.
    const auto snapshot =
        with(fixture(), {with_result(goal(1, kHomeTeam, 101, 5), 1, 2), with_result(goal(2, kHomeTeam, 101, 6), 2, 1),
                         with_result(own_goal(3, kHomeTeam, 102), 2, 2)});
    CHECK_FALSE(decide_sides(snapshot, {}).contains(3));
}

TEST_CASE("B17: kicks of a shoot-out explain no goal of the score") {
    auto snapshot =
        at_score(with(fixture(), {event(1, kShootoutGoal, kHomeTeam, 101, 120), own_goal(2, kHomeTeam, 102)}), 1, 0);
    snapshot.shootout = Score{1, 0};
    CHECK(decide_sides(snapshot, {}).at(2) == Side::kHome);
}

TEST_CASE("capture.score: cards and goals follow their participant") {
    const auto snapshot = with(fixture(), {event(1, kRedCard, kAwayTeam, 201, 3), goal(2, kAwayTeam, 201, 4)});
    const auto sides = decide_sides(snapshot, {});
    CHECK(sides.at(1) == Side::kAway);
    CHECK(sides.at(2) == Side::kAway);
}
