#include "match_script.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "golden.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;

namespace {

std::vector<State> states_of(const MatchScript& script) {
    std::vector<State> states;
    for (const auto& snapshot : script.snapshots) {
        if (states.empty() || states.back() != snapshot.state) states.push_back(snapshot.state);
    }
    return states;
}

MatchScript script_of(const std::string& file, std::size_t place) {
    return write_script(sample(file).matches.at(place));
}

}  // namespace

TEST_CASE("sim.match_script: a match in normal time goes through its states to full time") {
    CHECK(states_of(script_of("shape_2022.json", 0)) ==
          std::vector{State::kFirstHalf, State::kHalfTime, State::kSecondHalf, State::kFullTime});
}

TEST_CASE("sim.match_script: full time shows briefly before the break of a match with extra time") {
    const auto script = script_of("shape_2026.json", 1);
    CHECK(states_of(script) == std::vector{State::kFirstHalf, State::kHalfTime, State::kSecondHalf, State::kFullTime,
                                           State::kBreak, State::kExtraTime, State::kExtraTimeBreak,
                                           State::kExtraTimeSecondHalf, State::kAfterExtraTime});
    const auto brief = std::find_if(script.snapshots.begin(), script.snapshots.end(),
                                    [](const Snapshot& s) { return s.state == State::kFullTime; });
    CHECK_FALSE(script.has_ended(brief->at));
    CHECK(script.has_ended(script.snapshots.back().at));
}

TEST_CASE("sim.match_script: a shoot-out follows extra time or normal time as the score says") {
    CHECK(states_of(script_of("shape_2022.json", 2)).back() == State::kAfterPenalties);
    const auto direct = states_of(script_of("extended.json", 0));
    CHECK(direct == std::vector{State::kFirstHalf, State::kHalfTime, State::kSecondHalf, State::kFullTime,
                                State::kPenaltyBreak, State::kPenalties, State::kAfterPenalties});
}

TEST_CASE("sim.match_script: the running score comes from the goals and the last one from the file") {
    const auto cup =
        parse_tournament(R"({"matches":[{"round":"R","date":"2026-01-01","team1":"A","team2":"B","score":{"ft":[3,0]},)"
                         R"("goals1":[{"name":"x","minute":10}]}]})");
    const auto script = write_script(cup.matches.at(0));
    std::vector<int> home;
    for (const auto& snapshot : script.snapshots) home.push_back(snapshot.current.home);
    CHECK(home == std::vector{0, 1, 1, 1, 3});
}

TEST_CASE("sim.match_script: instants of one match never go back and no two are the same") {
    for (const auto* file : {"shape_2022.json", "shape_2026.json", "extended.json"}) {
        const auto cup = sample(file);
        for (const auto& match : cup.matches) {
            const auto script = write_script(match);
            for (std::size_t n = 1; n < script.snapshots.size(); ++n) {
                CHECK(script.snapshots[n - 1].at < script.snapshots[n].at);
            }
        }
    }
}

TEST_CASE("sim.match_script: two goals of one minute are two instants with a score each") {
    const auto script = script_of("shape_2022.json", 2);
    std::map<int, int> instants_with;
    for (const auto& snapshot : script.snapshots) ++instants_with[snapshot.current.away];
    CHECK(instants_with.at(1) == 1);
}

TEST_CASE("sim.match_script: the kicks of a shoot-out do not move the score") {
    const auto cup = sample("extended.json");
    const auto script = write_script(cup.matches.at(0));
    const auto& end = script.snapshots.back();
    CHECK(end.current == Goals{1, 1});
    CHECK(end.shootout == Goals{4, 3});
    CHECK(end.kicks == 9);
    for (const auto& snapshot : script.snapshots) {
        if (snapshot.state != State::kPenalties && snapshot.state != State::kAfterPenalties) {
            CHECK_FALSE(snapshot.shootout.has_value());
        }
    }
}

TEST_CASE("sim.match_script: a match without a score has no instant") {
    const auto script = script_of("shape_2026.json", 2);
    CHECK(script.snapshots.empty());
    CHECK(script.at(std::chrono::sys_days{std::chrono::year{2030} / 1 / 1}) == nullptr);
}

TEST_CASE("sim.match_script: a period lasts as long as its last added minute") {
    const auto script = script_of("shape_2022.json", 0);
    REQUIRE(script.periods.size() == 2);
    CHECK(script.periods[0].ended - script.periods[0].started == std::chrono::minutes{47});
    CHECK(script.periods[1].added == 4);
    CHECK(script.snapshots.back().at == script.periods[1].ended);
}

TEST_CASE("sim.match_script: what happens at the same time in two matches is one instant") {
    const auto cup = sample("shape_2022.json");
    const std::vector scripts{write_script(cup.matches.at(0)), write_script(cup.matches.at(1))};
    const auto instants = instants_of(scripts);
    CHECK(instants.size() < scripts[0].snapshots.size() + scripts[1].snapshots.size());
    CHECK(std::is_sorted(instants.begin(), instants.end()));
}
