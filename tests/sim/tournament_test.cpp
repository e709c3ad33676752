#include "tournament.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "golden.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;

namespace {

const Match& match_of(const Tournament& tournament, std::size_t place) { return tournament.matches.at(place); }

std::string name_of(const Tournament& tournament, const MatchEvent& event) {
    return tournament.players.at(event.player).name;
}

/// A tournament of one match with the given keys after the teams.
std::string one_match(const std::string& keys) {
    return R"({"name":"One","matches":[{"round":"Final","date":"2026-07-19","team1":"A","team2":"B",)" + keys + "}]}";
}

std::string with_goals(const std::string& goals1, const std::string& goals2) {
    return one_match(R"("score":{"ft":[1,1]},"goals1":[)" + goals1 + R"(],"goals2":[)" + goals2 + "]");
}

std::string error_of(const std::string& json) {
    try {
        (void)parse_tournament(json);
    } catch (const DataError& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("sim.tournament: every goal of the file is one event and nothing is invented") {
    const auto cup = sample("shape_2022.json");
    REQUIRE(cup.matches.size() == 3);
    CHECK(match_of(cup, 0).events.size() == 3);
    CHECK(match_of(cup, 1).events.empty());
    CHECK(match_of(cup, 2).events.size() == 6);
    CHECK(match_of(cup, 2).kicks.empty());
}

TEST_CASE("sim.tournament: goals are sorted by minute and added time and not by the file or the sum") {
    const auto cup = sample("shape_2026.json");
    std::vector<std::pair<int, int>> times;
    for (const auto& goal : match_of(cup, 0).events) times.emplace_back(goal.at.minute, goal.at.added);
    CHECK(times == std::vector<std::pair<int, int>>{{9, 0}, {90, 1}, {90, 2}});
    CHECK(GameTime{45, 6} < GameTime{46, 0});
    CHECK(GameTime{90, 11} < GameTime{91, 0});
}

TEST_CASE("sim.tournament: a minute above 90 is added time only in a match without extra time") {
    CHECK(normalised({92, 0}, false) == GameTime{90, 2});
    CHECK(normalised({91, 3}, false) == GameTime{90, 4});
    CHECK(normalised({90, 0}, false) == GameTime{90, 0});
    CHECK(normalised({92, 0}, true) == GameTime{92, 0});
    CHECK(normalised({120, 0}, true) == GameTime{120, 0});
    CHECK(normalised({121, 0}, true) == GameTime{120, 1});
    CHECK(normalised({120, 5}, true) == GameTime{120, 5});
}

TEST_CASE("sim.tournament: both shapes of a minute are read and all else is refused") {
    CHECK(parse_minute("7") == GameTime{7, 0});
    CHECK(parse_minute("90+4") == GameTime{90, 4});
    CHECK(parse_minute("92") == GameTime{92, 0});
    for (const char* wrong : {"", "x", "-1", "9a", "90+", "90+-1", "90+4+1", "+4", "151", "90+61", " 9"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS((void)parse_minute(wrong), DataError);
    }
    const auto cup =
        parse_tournament(with_goals(R"({"name":"x","minute":45,"offset":3})", R"({"name":"y","minute":"45+3"})"));
    CHECK(match_of(cup, 0).events.at(0).at == GameTime{45, 3});
    CHECK(match_of(cup, 0).events.at(1).at == GameTime{45, 3});
}

TEST_CASE("sim.tournament: a kick-off without a zone is UTC and one with a zone is read") {
    const auto at = [](const char* date, const char* time) { return utc_text(parse_kickoff(date, time)); };
    CHECK(at("2022-11-20", "19:00") == "2022-11-20T19:00:00Z");
    CHECK(at("2026-06-11", "13:00 UTC-6") == "2026-06-11T19:00:00Z");
    CHECK(at("2026-07-04", "20:30 UTC-4") == "2026-07-05T00:30:00Z");
    CHECK(at("2026-07-04", "01:15 UTC+5:30") == "2026-07-03T19:45:00Z");
    CHECK(at("2026-07-04", "01:15 UTC") == "2026-07-04T01:15:00Z");
    CHECK(at("2026-07-04", "") == "2026-07-04T00:00:00Z");
    for (const auto& [date, time] : std::vector<std::pair<const char*, const char*>>{{"2026-02-30", "19:00"},
                                                                                     {"2026-06-266", "19:00"},
                                                                                     {"2026-257-01", "19:00"},
                                                                                     {"2026-02", "19:00"},
                                                                                     {"tomorrow", "19:00"},
                                                                                     {"2026-02-03", "25:00"},
                                                                                     {"2026-02-03", "19"},
                                                                                     {"2026-02-03", "19:60"},
                                                                                     {"2026-02-03", "19:00 CET"},
                                                                                     {"2026-02-03", "19:00 UTC+"},
                                                                                     {"2026-02-03", "19:00 UTC+15"},
                                                                                     {"2026-02-03", "19:00 UTC-6 x"}}) {
        CAPTURE(date);
        CAPTURE(time);
        CHECK_THROWS_AS((void)parse_kickoff(date, time), DataError);
    }
}

TEST_CASE(
    "sim.tournament: an own goal counts for the side in whose list it stands and its scorer plays for the other") {
    const auto cup = sample("shape_2022.json");
    const auto& match = match_of(cup, 0);
    const auto own = std::find_if(match.events.begin(), match.events.end(),
                                  [](const MatchEvent& h) { return h.kind == EventKind::kOwnGoal; });
    REQUIRE(own != match.events.end());
    CHECK(own->side == Side::kHome);
    CHECK(cup.players.at(own->player).team == match.home);
    Goals goals;
    count_goal(goals, *own);
    CHECK(goals == Goals{0, 1});
}

TEST_CASE("sim.tournament: one player for each team and name and nothing is merged") {
    const auto cup =
        parse_tournament(with_goals(R"({"name":"Ann","minute":1},{"name":"Ann","minute":2},{"name":"Ann ","minute":3})",
                                    R"({"name":"Ann","minute":4})"));
    CHECK(cup.players.size() == 3);
    std::set<std::int64_t> ids;
    for (const auto& player : cup.players) ids.insert(player.id);
    CHECK(ids.size() == 3);
}

TEST_CASE("sim.tournament: goals lists and the half-time score may be missing") {
    const auto cup = parse_tournament(one_match(R"("score":{"ft":[2,1]})"));
    const auto& match = match_of(cup, 0);
    CHECK(match.is_played());
    CHECK(match.events.empty());
    CHECK_FALSE(match.half_time.has_value());
    CHECK_FALSE(match.half_time_disagrees());
    CHECK(match.final_score() == Goals{2, 1});
}

TEST_CASE("sim.tournament: a match without a score is not played whatever else its file says") {
    const auto cup = parse_tournament(one_match(R"("goals1":[{"name":"x","minute":1}],"score":null)"));
    CHECK_FALSE(match_of(cup, 0).is_played());
    CHECK(match_of(cup, 0).events.empty());
}

TEST_CASE("sim.tournament: the final score is that after extra time and the shoot-out stays apart") {
    const auto cup = sample("shape_2022.json");
    const auto& final = match_of(cup, 2);
    CHECK(final.final_score() == Goals{3, 3});
    CHECK(final.full_time == Goals{2, 2});
    CHECK(final.shootout == Goals{2, 4});
}

TEST_CASE("sim.tournament: a half-time score that disagrees with the goals is kept beside") {
    const auto cup = sample("shape_2026.json");
    CHECK(match_of(cup, 0).half_time == Goals{0, 1});
    CHECK(match_of(cup, 0).first_half_goals() == Goals{1, 0});
    CHECK(match_of(cup, 0).half_time_disagrees());
    CHECK_FALSE(match_of(cup, 1).half_time_disagrees());
}

TEST_CASE("sim.tournament: ids come from the place in the file and two readings give the same") {
    const auto one = sample("shape_2022.json");
    const auto two = sample("shape_2022.json");
    std::set<std::int64_t> events;
    for (std::size_t m = 0; m < one.matches.size(); ++m) {
        CHECK(one.matches[m].id == 19'000'001 + static_cast<std::int64_t>(m));
        for (std::size_t h = 0; h < one.matches[m].events.size(); ++h) {
            CHECK(one.matches[m].events[h].id == two.matches[m].events[h].id);
            events.insert(one.matches[m].events[h].id);
        }
    }
    CHECK(events.size() == 9);
    // The final's third goal of the file is the second one in play: ids do not follow the match.
    CHECK(one.matches[2].events[1].id > one.matches[2].events[5].id);
}

TEST_CASE("sim.tournament: groups and rounds carry their names and a knock-out match has no group") {
    const auto cup = sample("shape_2022.json");
    REQUIRE(match_of(cup, 0).group.has_value());
    CHECK(cup.groups.at(*match_of(cup, 0).group).name == "Group A");
    CHECK(cup.rounds.at(match_of(cup, 0).round).name == "Matchday 1");
    CHECK_FALSE(match_of(cup, 2).group.has_value());
    CHECK(cup.rounds.at(match_of(cup, 2).round).name == "Final");
}

TEST_CASE(
    "sim.tournament: cards and substitutions and missed penalties and shoot-outs are read from the extended form") {
    const auto cup = sample("extended.json");
    const auto& match = match_of(cup, 0);
    std::vector<int> kinds;
    for (const auto& event : match.events) kinds.push_back(static_cast<int>(event.kind));
    CHECK(kinds == std::vector<int>{19, 19, 14, 18, 14, 21, 17, 20});
    CHECK(match.kicks.size() == 9);
    CHECK(name_of(cup, match.kicks.front()) == "佐藤 翔");
    const auto& goal = match.events.at(4);
    REQUIRE(goal.related.has_value());
    CHECK(cup.players.at(*goal.related).name == "髙木 蓮");
}

TEST_CASE("sim.tournament: a broken file is refused with the match and the field") {
    CHECK(error_of("{").find("not JSON") != std::string::npos);
    CHECK(error_of("[]") == "the file is not an object with \"matches\"");
    CHECK(error_of(R"({"name":"x","matches":[]})") == "the file has no matches");
    CHECK(error_of(R"({"matches":[{"round":"x"}]})").find("match 1: team1 is missing") != std::string::npos);
    CHECK(error_of(one_match(R"("score":{"ft":[1]})")) == "match 1: score.ft is not a pair of numbers");
    CHECK(error_of(one_match(R"("score":{"et":[1,1]})")) == "match 1: score.ft is missing");
    CHECK(error_of(with_goals(R"({"minute":1})", "")) == "match 1: name is missing");
    CHECK(error_of(with_goals(R"({"name":"x"})", "")) == "match 1: minute is missing");
    CHECK(error_of(with_goals(R"({"name":"x","minute":"soon"})", "")).find("'soon'") != std::string::npos);
    CHECK(error_of(with_goals(R"({"name":7,"minute":1})", "")) == "match 1: name is not a text");
    CHECK(
        error_of(one_match(R"("score":{"ft":[0,0]},"cards1":[{"name":"x","minute":1,"card":"blue"}])")).find("blue") !=
        std::string::npos);
    CHECK(error_of(one_match(R"("score":{"ft":[0,0]},"shootout":[{"team":1,"name":"x"}])")).find("score.p") !=
          std::string::npos);
}
