#include "capture/happenings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "builders.hpp"
#include "support/rng.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

namespace {

Happening known(const EventSnapshot& event, Side side = Side::kHome) {
    Happening happening;
    happening.id = event.id;
    happening.type_id = event.type_id;
    happening.minute = event.minute;
    happening.participant_id = event.participant_id;
    if (event.player) happening.player_id = event.player->id;
    happening.side = side;
    happening.verdict = event.verdict;
    return happening;
}

EventSnapshot yellow(std::int64_t id, std::int64_t player, std::int32_t minute) {
    return event(id, kYellowCard, kHomeTeam, player, minute);
}

Findings find(const std::vector<Happening>& stored, const FixtureSnapshot& snapshot,
              std::optional<Score> stored_score = Score{0, 0}, bool is_by_id = false) {
    return find_happenings(stored, {snapshot, stored_score, is_by_id, 3});
}

}  // namespace

TEST_CASE("capture.happenings: a new id in the place of one that is gone is the same happening") {
    struct Row {
        const char* what;
        EventSnapshot gone;
        EventSnapshot fresh;
        bool is_linked;
    };
    const auto at = [](std::int64_t id, std::int32_t minute) { return goal(id, kHomeTeam, 101, minute); };
    const std::vector<Row> rows{
        {"a minute earlier", at(223, 38), at(224, 37), true},
        {"a goal that is a penalty now", at(223, 38), event(224, kPenalty, kHomeTeam, 101, 38), true},
        {"another player", at(223, 38), goal(224, kHomeTeam, 102, 38), false},
        {"the other team", at(223, 38), goal(224, kAwayTeam, 101, 38), false},
        {"another kind", at(223, 38), yellow(224, 101, 38), false},
        {"much later", at(223, 38), at(224, 44), false},
        {"a card of another colour", yellow(223, 101, 20), event(224, kRedCard, kHomeTeam, 101, 20), true},
        {"no minute", at(223, 38),
         [&] {
             auto e = at(224, 0);
             e.minute.reset();
             return e;
         }(),
         true},
    };
    for (const auto& row : rows) {
        CAPTURE(row.what);
        const auto found = find({known(row.gone)}, at_score(with(fixture(), {row.fresh}), 1, 0), Score{1, 0});
        CHECK(found.linked == (row.is_linked ? std::vector<Reissue>{{223, 224}} : std::vector<Reissue>{}));
        CHECK(found.happening_of.contains(224) == row.is_linked);
        // Another goal that the score has room for says that the first one is not in it.
        CHECK(found.has_open_questions == found.withdrawn.empty());
    }
}

TEST_CASE("capture.happenings: with another score a new goal is a new one and the old one is missing") {
    const auto found = find({known(goal(223, kHomeTeam, 101, 38))},
                            at_score(with(fixture(), {goal(224, kHomeTeam, 101, 39)}), 2, 0), Score{1, 0});
    CHECK(found.linked.empty());
    CHECK(found.absences.at(223) == 1);
}

TEST_CASE("capture.happenings: a goal in the place of a goal under review is that one") {
    auto review = event(600, kVar, kHomeTeam, 101, 70);
    const auto after = at_score(with(fixture(), {goal(601, kHomeTeam, 101, 70)}), 1, 0);
    CHECK(find({known(review)}, after).linked.empty());
    review.verdict = VarVerdict::kUnderReview;
    CHECK(find({known(review)}, after).linked == std::vector<Reissue>{{600, 601}});
}

TEST_CASE("capture.happenings: of several the nearest minutes belong together") {
    const auto found =
        find({known(goal(1, kHomeTeam, 101, 30)), known(goal(2, kHomeTeam, 101, 34))},
             at_score(with(fixture(), {goal(8, kHomeTeam, 101, 33), goal(9, kHomeTeam, 101, 31)}), 2, 0), Score{2, 0});
    CHECK(found.happening_of == std::map<std::int64_t, std::int64_t>{{8, 2}, {9, 1}});
}

TEST_CASE(
    "capture.happenings: a provisional link is confirmed when the old id stays away and parted when both are there") {
    auto stored = known(goal(223, kHomeTeam, 101, 38));
    stored.reissues = {{224, false}};
    const auto only_new = at_score(with(fixture(), {goal(224, kHomeTeam, 101, 37)}), 1, 0);
    const auto confirmed = find({stored}, only_new, Score{1, 0});
    CHECK(confirmed.confirmed == std::vector<Reissue>{{223, 224}});
    CHECK_FALSE(confirmed.has_open_questions);
    const auto parted = find({stored}, at_score(with(only_new, {goal(223, kHomeTeam, 101, 38)}), 2, 0), Score{1, 0});
    CHECK(parted.parted == std::vector<Reissue>{{223, 224}});
    CHECK(parted.happening_of == std::map<std::int64_t, std::int64_t>{{223, 223}});
    // The old one alone again: nothing is decided.
    const auto back = find({stored}, at_score(with(fixture(), {goal(223, kHomeTeam, 101, 38)}), 1, 0), Score{1, 0});
    CHECK(back.confirmed.empty());
    CHECK(back.parted.empty());
    CHECK(back.has_open_questions);
}

TEST_CASE("capture.happenings: an absence needs evidence") {
    const auto gone = goal(501, kHomeTeam, 101, 60);
    const auto rest = with(fixture(), {goal(502, kHomeTeam, 102, 10), yellow(503, 103, 20)});
    const std::vector<Happening> stored{known(gone), known(goal(502, kHomeTeam, 102, 10)), known(yellow(503, 103, 20))};
    auto cancelled = event(510, kVar, kHomeTeam, 101, 62);
    cancelled.verdict = VarVerdict::kTakesBack;
    auto confirmed = cancelled;
    confirmed.verdict = VarVerdict::kConfirms;

    CHECK(find(stored, at_score(rest, 2, 0), Score{2, 0}).withdrawn.empty());
    CHECK(find(stored, at_score(rest, 2, 0), Score{2, 0}).absences.at(501) == 1);
    CHECK(find(stored, at_score(rest, 1, 0), Score{2, 0}).withdrawn.contains(501));  // The score without it.
    CHECK(find(stored, at_score(with(rest, {cancelled}), 2, 0), Score{2, 0}).withdrawn.contains(501));
    CHECK(find(stored, at_score(with(rest, {confirmed}), 2, 0), Score{2, 0}).withdrawn.empty());
    CHECK(find(stored, at_score(rest, 2, 0), Score{2, 0}, true).withdrawn.empty());  // By id, but the first answer.
    auto missed_once = stored;
    missed_once[0].absences = 1;
    CHECK(find(missed_once, at_score(rest, 2, 0), Score{2, 0}).withdrawn.empty());
    CHECK(find(missed_once, at_score(rest, 2, 0), Score{2, 0}, true).withdrawn.contains(501));
    auto missed_twice = stored;
    missed_twice[0].absences = 2;
    CHECK(find(missed_twice, at_score(rest, 2, 0), Score{2, 0}).withdrawn.contains(501));
    // A card has no score.
    CHECK(find(stored, at_score(with(fixture(), {gone, goal(502, kHomeTeam, 102, 10)}), 2, 0)).withdrawn.empty());
}

TEST_CASE("capture.happenings: an answer that is not complete proves no absence") {
    const std::vector<Happening> stored{known(goal(501, kHomeTeam, 101, 60)), known(yellow(503, 103, 20))};
    auto partial = at_score(with(fixture(), {yellow(503, 103, 20)}), 0, 0);
    partial.rejected.push_back({501, "{", "cut"});
    auto silent = fixture();
    silent.has_event_list = false;
    for (const auto& snapshot : {partial, silent}) {
        const auto found = find(stored, snapshot, Score{1, 0}, true);
        CHECK(found.withdrawn.empty());
        CHECK(found.absences.empty());
    }
}

TEST_CASE("B27: an empty list or one with most events missing proves no absence") {
    std::vector<Happening> stored;
    for (int id = 1; id <= 5; ++id) stored.push_back(known(yellow(id, 100 + id, id)));
    for (auto& happening : stored) happening.absences = 2;
    for (const auto& snapshot : {fixture(), with(fixture(), {yellow(1, 101, 1), yellow(2, 102, 2)})}) {
        const auto found = find(stored, snapshot, Score{0, 0}, true);
        CHECK(found.is_suspect);
        CHECK(found.withdrawn.empty());
    }
    // The score is written by another hand and may still tell.
    const auto found = find({known(goal(501, kHomeTeam, 101, 60))}, at_score(fixture(), 0, 0), Score{1, 0});
    CHECK(found.withdrawn.contains(501));
    const auto silent = find({known(goal(501, kHomeTeam, 101, 60))}, at_score(fixture(), 1, 0), Score{1, 0});
    CHECK(silent.withdrawn.empty());
}

TEST_CASE("capture.happenings: what comes back is no longer missing") {
    auto missed = known(yellow(503, 103, 20));
    missed.absences = 2;
    CHECK(find({missed}, with(fixture(), {yellow(503, 103, 20)})).absences.at(503) == 0);
    auto withdrawn = known(yellow(503, 103, 20));
    withdrawn.is_withdrawn = true;
    CHECK(find({withdrawn}, with(fixture(), {yellow(503, 103, 20)})).happening_of.contains(503));
    CHECK_FALSE(find({withdrawn}, fixture()).has_open_questions);
}

TEST_CASE("capture.happenings: whatever answers say each event of one belongs to one happening and each settles") {
    FTL_RNG(rng);
    for (int round = 0; round < 500; ++round) {
        std::vector<Happening> stored;
        for (std::int64_t id = 1; id <= rng.between(0, 6); ++id) {
            auto happening = known(goal(id, kHomeTeam, 100 + rng.between(1, 3), static_cast<int>(rng.between(1, 90))));
            happening.is_withdrawn = rng.chance(0.2);
            happening.absences = happening.is_withdrawn ? 0 : static_cast<int>(rng.between(0, 2));
            if (rng.chance(0.3)) happening.reissues = {{100 + id, rng.chance(0.5)}};
            stored.push_back(happening);
        }
        auto snapshot = at_score(fixture(), static_cast<int>(rng.between(0, 3)), 0);
        std::vector<EventSnapshot> events;
        for (std::int64_t id = 1; id <= 6; ++id) {
            for (const auto shown : {id, 100 + id, 200 + id}) {
                if (rng.chance(0.3)) {
                    events.push_back(
                        goal(shown, kHomeTeam, 100 + rng.between(1, 3), static_cast<int>(rng.between(1, 90))));
                }
            }
        }
        snapshot = with(snapshot, events);
        const auto found = find(stored, snapshot, Score{static_cast<int>(rng.between(0, 3)), 0}, rng.chance(0.3));
        std::set<std::int64_t> taken;
        for (const auto& [id, happening] : found.happening_of) {
            CHECK(std::any_of(events.begin(), events.end(), [&](const auto& event) { return event.id == id; }));
            CHECK(taken.insert(happening).second);
            CHECK_FALSE(found.withdrawn.contains(happening));
        }
        for (const auto& happening : stored) {
            const bool is_there = taken.contains(happening.id);
            const bool is_judged = found.withdrawn.contains(happening.id) || found.absences.contains(happening.id);
            CHECK((is_there || is_judged || happening.is_withdrawn || found.is_suspect));
            CHECK_FALSE((happening.is_withdrawn && found.withdrawn.contains(happening.id)));
        }
        // The same answer says the same.
        const auto again = find(stored, snapshot, Score{0, 0});
        CHECK(again.happening_of == find(stored, snapshot, Score{0, 0}).happening_of);
    }
}

TEST_CASE("capture.happenings: does the score follow from the goals") {
    const auto one = with(fixture(), {goal(1, kHomeTeam, 101, 10)});
    CHECK(is_score_explained(at_score(one, 1, 0), {{1, Side::kHome}}) == true);
    CHECK(is_score_explained(at_score(one, 0, 0), {{1, Side::kHome}}) == false);
    CHECK(is_score_explained(at_score(one, 1, 0), {}) == false);
    auto unknown = one;
    unknown.score.reset();
    CHECK(is_score_explained(unknown, {{1, Side::kHome}}) == std::nullopt);
}
