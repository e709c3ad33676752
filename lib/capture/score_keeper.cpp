#include <ftlfeed/capture/score_keeper.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <ftlfeed/capture/vocabulary.hpp>

namespace ftlfeed::capture {
namespace {

/// By the running result alone: which of the two scores that it may come from is the one before it? The event with one
/// goal fewer in its result tells; the place in the list does not matter.
std::optional<Side> side_by_result(const FixtureSnapshot& fixture, const EventSnapshot& goal) {
    if (!goal.result) return std::nullopt;
    const auto after = *goal.result;
    if (after.home == 0 && after.away == 0) return std::nullopt;
    if (after.home == 0) return Side::kAway;
    if (after.away == 0) return Side::kHome;
    std::optional<Side> side;
    for (const auto& event : fixture.events) {
        if (event.id == goal.id || !is_score_goal(event.type_id) || !event.result) continue;
        std::optional<Side> says;
        if (*event.result == Score{after.home - 1, after.away}) says = Side::kHome;
        if (*event.result == Score{after.home, after.away - 1}) says = Side::kAway;
        if (!says) continue;
        if (side && *side != *says) return std::nullopt;  // The results contradict each other: they decide nothing.
        side = says;
    }
    return side;
}

/// By counting: the goals that the score has and no other event explains.
std::optional<Side> side_by_count(const Score& score, const Score& explained, int undecided) {
    const auto home_lacks = score.home - explained.home;
    const auto away_lacks = score.away - explained.away;
    if (home_lacks >= undecided && away_lacks <= 0) return Side::kHome;
    if (away_lacks >= undecided && home_lacks <= 0) return Side::kAway;
    return std::nullopt;
}

}  // namespace

TeamSides decide_sides(const FixtureSnapshot& fixture, const TeamSides& known) {
    TeamSides sides;
    Score explained;
    std::vector<const EventSnapshot*> undecided;
    const auto decide = [&](const EventSnapshot& event, Side side) {
        sides[event.id] = side;
        if (is_score_goal(event.type_id)) ++(side == Side::kHome ? explained.home : explained.away);
    };

    for (const auto& event : fixture.events) {
        auto side = fixture.side_of(event.participant_id);
        if (event.type_id == kOwnGoal) side = side_by_result(fixture, event);
        if (!side && is_score_goal(event.type_id)) side = side_by_result(fixture, event);
        if (side) {
            decide(event, *side);
        } else if (event.type_id == kOwnGoal) {
            undecided.push_back(&event);
        }
    }

    if (undecided.empty()) return sides;
    const auto by_count =
        fixture.score ? side_by_count(*fixture.score, explained, static_cast<int>(undecided.size())) : std::nullopt;
    for (const auto* event : undecided) {
        // What an earlier answer decided stands: a score that lags behind the events takes nothing back (B13).
        const auto before = known.find(event->id);
        if (by_count) {
            decide(*event, *by_count);
        } else if (before != known.end()) {
            decide(*event, before->second);
        }
    }
    return sides;
}

}  // namespace ftlfeed::capture
