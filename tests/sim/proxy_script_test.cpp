#include "proxy_script.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "command.hpp"

using namespace ftlfeed::sim;

namespace {

ConnectionPlan plan(const char* script, std::uint64_t connection, std::uint64_t seed = 1) {
    return ProxyScript::parse(script).plan(connection, seed);
}

}  // namespace

TEST_CASE("sim.proxy_script: without a fitting rule everything passes") {
    CHECK(plan("", 1) == ConnectionPlan{});
    CHECK(plan("2: silence", 1) == ConnectionPlan{});
    CHECK(plan("1: pass; *: silence", 1) == ConnectionPlan{});
}

TEST_CASE("sim.proxy_script: the first rule that fits a connection holds") {
    const char* script = "1: down reset=100; 2-3: silence; 5-: up close=1; *: delay=7";
    CHECK(plan(script, 1).down.end == End::kReset);
    CHECK(plan(script, 1).up == DirectionPlan{});
    CHECK(plan(script, 2).is_silent);
    CHECK(plan(script, 3).is_silent);
    CHECK(plan(script, 4).up.delay_ms == 7);
    CHECK(plan(script, 5).up.end == End::kClose);
    CHECK(plan(script, 500).up.end == End::kClose);
}

TEST_CASE("sim.proxy_script: words hold for the direction named before them") {
    const auto both = plan("*: delay=5 up slice=1 stop=20 down half=3 both delay=9", 1);
    CHECK(both.up == DirectionPlan{9, 1, End::kStop, 20});
    CHECK(both.down == DirectionPlan{9, 0, End::kHalf, 3});
    CHECK(plan("*: swallow=4", 1).down == DirectionPlan{0, 0, End::kSwallow, 4});
}

TEST_CASE("sim.proxy_script: rules stand on lines too and comments are left out") {
    const char* script = "# the first one dies\n1: reset=1   # at once\n\n  2: close=2 ;3: half=3\r\n";
    CHECK(plan(script, 1).up.end == End::kReset);
    CHECK(plan(script, 2).up.end == End::kClose);
    CHECK(plan(script, 3).up.end == End::kHalf);
}

TEST_CASE("sim.proxy_script: what a script leaves open is decided by the seed alone") {
    const char* script = "*: down reset=100..200 delay=1..1000";
    std::set<std::uint64_t> bytes;
    for (std::uint64_t connection = 1; connection <= 100; ++connection) {
        const auto chosen = plan(script, connection, 7);
        CHECK(chosen == plan(script, connection, 7));
        CHECK(chosen.down.end_after_bytes >= 100);
        CHECK(chosen.down.end_after_bytes <= 200);
        bytes.insert(chosen.down.end_after_bytes);
    }
    CHECK(bytes.size() > 20);
    CHECK(plan(script, 1, 7) != plan(script, 1, 8));
}

TEST_CASE("sim.proxy_script: a share of the connections is drawn by the seed") {
    int silent = 0;
    for (std::uint64_t connection = 1; connection <= 1000; ++connection) {
        if (plan("20%: silence", connection).is_silent) ++silent;
    }
    CHECK(silent > 150);
    CHECK(silent < 250);
    CHECK(plan("0%: silence", 1) == ConnectionPlan{});
    CHECK(plan("100%: silence", 1).is_silent);
}

TEST_CASE("sim.proxy_script: a wrong word is refused and named") {
    for (const char* wrong :
         {"silence", "*:", "*: ", "x: pass", "0: pass", "3-2: pass", "101%: pass", "*: delay",
          "*: delay=", "*: delay=x", "*: delay=5..2", "*: explode=1", "*: reset=1..", "1 2: pass"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS((void)ProxyScript::parse(wrong), UsageError);
    }
    try {
        (void)ProxyScript::parse("1: down explode=1");
        FAIL("accepted");
    } catch (const UsageError& error) {
        CHECK(std::string(error.what()) == "script: 'explode=1' is no fault");
    }
}
