#include "generate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "command.hpp"
#include "golden.hpp"

using namespace ftlfeed::sim;

namespace {

Tournament generated(std::uint64_t seed, const GenerateSettings& base = {}) {
    auto settings = base;
    settings.seed = seed;
    return parse_tournament(generate_tournament(settings));
}

std::size_t events_of(const Tournament& cup) {
    std::size_t events = 0;
    for (const auto& match : cup.matches) events += match.events.size() + match.kicks.size();
    return events;
}

Goals goals_of(const Match& match) {
    Goals goals;
    for (const auto& event : match.events) count_goal(goals, event);
    return goals;
}

}  // namespace

TEST_CASE("sim.generate: the same seed gives the same bytes and another seed another tournament") {
    CHECK(generate_tournament({.seed = 7}) == generate_tournament({.seed = 7}));
    CHECK(generate_tournament({.seed = 7}) != generate_tournament({.seed = 8}));
}

TEST_CASE("sim.generate: 32 teams play 64 matches in groups and knock-out rounds") {
    const auto cup = generated(1);
    CHECK(cup.teams.size() == 32);
    CHECK(cup.matches.size() == 64);
    CHECK(cup.groups.size() == 8);
    std::map<std::string, int> rounds;
    int in_groups = 0;
    for (const auto& match : cup.matches) {
        ++rounds[cup.rounds[match.round].name];
        if (match.group) ++in_groups;
    }
    CHECK(in_groups == 48);
    CHECK(rounds["Round of 16"] == 8);
    CHECK(rounds["Quarter-finals"] == 4);
    CHECK(rounds["Semi-finals"] == 2);
    CHECK(rounds["Match for third place"] == 1);
    CHECK(rounds["Final"] == 1);
}

TEST_CASE("sim.generate: in every tournament the goals add up to the scores and no knock-out match ends in a draw") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        CAPTURE(seed);
        const auto cup = generated(seed, {.teams = 16});
        for (const auto& match : cup.matches) {
            CHECK(goals_of(match) == match.final_score());
            CHECK_FALSE(match.half_time_disagrees());
            if (match.group) continue;
            const auto decisive = match.shootout.value_or(match.final_score());
            CHECK(decisive.home != decisive.away);
        }
    }
}

TEST_CASE("sim.generate: in a group each team meets each other once and rests between its matches") {
    const auto cup = generated(3);
    std::set<std::pair<std::size_t, std::size_t>> met;
    std::map<std::size_t, std::chrono::sys_seconds> last;
    for (const auto& match : cup.matches) {
        if (!match.group) continue;
        CHECK(met.insert(std::minmax(match.home, match.away)).second);
        for (const auto team : {match.home, match.away}) {
            if (last.contains(team)) CHECK(match.kickoff - last[team] >= std::chrono::days{1});
            last[team] = match.kickoff;
        }
    }
    CHECK(met.size() == 48);
}

TEST_CASE("sim.generate: a shoot-out is told kick by kick and adds up to its result") {
    int shootouts = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        for (const auto& match : generated(seed).matches) {
            if (!match.shootout) continue;
            ++shootouts;
            Goals goals;
            for (const auto& kick : match.kicks) {
                if (kick.kind == EventKind::kShootoutGoal) ++goals.of(kick.side);
            }
            CHECK(goals == *match.shootout);
        }
    }
    CHECK(shootouts > 0);
}

TEST_CASE("sim.generate: a tournament has every kind of event and names in several scripts") {
    std::set<int> kinds;
    std::string names;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const auto cup = generated(seed);
        for (const auto& player : cup.players) names += player.name + "\n";
        for (const auto& match : cup.matches) {
            for (const auto& event : match.events) kinds.insert(static_cast<int>(event.kind));
            for (const auto& kick : match.kicks) kinds.insert(static_cast<int>(kick.kind));
        }
    }
    CHECK(kinds == std::set<int>{14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
    for (const char* part : {"Þ", "Соколов", "الشريف", "王", "佐藤", "O'", "\"", "\\", "<", "&"}) {
        CAPTURE(part);
        CHECK(names.find(part) != std::string::npos);
    }
}

TEST_CASE("sim.generate: the number of events and of matches is exactly the one asked for") {
    CHECK(events_of(generated(1, {.events = 5000})) == 5000);
    CHECK(events_of(generated(1, {.teams = 8, .events = 260})) == 260);
    CHECK(generated(1, {.teams = 8, .matches = 3}).matches.size() == 3);
    CHECK(generated(1, {.teams = 8, .matches = 15}).matches.size() == 15);
    CHECK(generated(1, {.teams = 8, .matches = 100}).matches.size() == 100);
    const auto both = generated(1, {.teams = 8, .matches = 20, .events = 1000});
    CHECK(both.matches.size() == 20);
    CHECK(events_of(both) == 1000);
}

TEST_CASE("sim.generate: what cannot be made is refused") {
    CHECK_THROWS_AS((void)generate_tournament({.teams = 12}), UsageError);
    CHECK_THROWS_AS((void)generate_tournament({.teams = 4}), UsageError);
    CHECK_THROWS_AS((void)generate_tournament({.teams = 256}), UsageError);
    CHECK_THROWS_AS((void)generate_tournament({.matches = 0}), UsageError);
    CHECK_THROWS_AS((void)generate_tournament({.events = 0}), UsageError);
    // More goals than events.
    CHECK_THROWS_AS((void)generate_tournament({.events = 3}), UsageError);
}
