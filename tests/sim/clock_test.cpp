#include "clock.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "golden.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::sys_seconds kStart{std::chrono::seconds{1'000'000}};
const Clock::Monotonic kMoment{};

}  // namespace

TEST_CASE("sim.clock: at full speed the clock moves only when an answer was delivered and the next request has come") {
    const auto clock = make_reader_clock({kStart + 10s, kStart + 20s}, kStart);
    clock->inplay_requested(kMoment);
    CHECK(clock->now(kMoment) == kStart);
    clock->inplay_requested(kMoment);  // The first answer was lost.
    CHECK(clock->now(kMoment) == kStart);
    clock->inplay_delivered();
    CHECK(clock->now(kMoment) == kStart);  // Delivered, but nobody asks yet.
    clock->inplay_requested(kMoment);
    CHECK(clock->now(kMoment) == kStart + 10s);
    clock->inplay_requested(kMoment);
    CHECK(clock->now(kMoment) == kStart + 10s);
}

TEST_CASE("sim.clock: at full speed the clock goes from instant to instant and stays at the last") {
    const auto clock = make_reader_clock({kStart + 10s, kStart + 20s}, kStart);
    std::vector<std::chrono::sys_seconds> seen;
    for (int n = 0; n < 5; ++n) {
        clock->inplay_requested(kMoment);
        seen.push_back(clock->now(kMoment));
        clock->inplay_delivered();
    }
    CHECK(seen == std::vector{kStart, kStart + 10s, kStart + 20s, kStart + 20s, kStart + 20s});
}

TEST_CASE("sim.clock: a paced clock begins with the first request and runs as many times faster") {
    const auto clock = make_paced_clock({{kStart, kStart + 1h}}, 60, kStart - 1h);
    CHECK(clock->now(kMoment + 10h) == kStart - 1h);
    clock->inplay_requested(kMoment + 10h);
    CHECK(clock->now(kMoment + 10h) == kStart);
    CHECK(clock->now(kMoment + 10h + 30s) == kStart + 30min);
    CHECK(clock->now(kMoment + 11h) == kStart + 1h);
    CHECK(clock->now(kMoment + 20h) == kStart + 1h);
}

TEST_CASE("sim.clock: a paced clock skips the hours without a match") {
    const auto clock = make_paced_clock({{kStart, kStart + 2h}, {kStart + 24h, kStart + 26h}}, 60, kStart);
    clock->inplay_requested(kMoment);
    CHECK(clock->now(kMoment + 2min) == kStart + 2h);
    CHECK(clock->now(kMoment + 3min) == kStart + 25h);
}

TEST_CASE("sim.clock: stretches of matches that overlap are one and those of a match not played are none") {
    const auto cup = sample("shape_2022.json");
    std::vector<MatchScript> scripts;
    for (const auto& match : cup.matches) scripts.push_back(write_script(match));
    scripts.emplace_back();
    const auto stretches = stretches_of(scripts);
    REQUIRE(stretches.size() == 2);
    CHECK(stretches[0].from == cup.matches[0].kickoff - 1min);
    CHECK(stretches[0].to == scripts[0].snapshots.back().at + 1min);
    CHECK(stretches[1].from == cup.matches[2].kickoff - 1min);
}
