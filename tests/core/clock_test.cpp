#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/deadline.hpp>
#include <thread>

using namespace ftlfeed::core;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("core.clock: a stepped system clock moves no steady time") {
    ManualClock clock;
    const auto steady = clock.steady_now();
    const auto system = clock.system_now();
    clock.step_system(std::chrono::hours(-3));
    CHECK(clock.steady_now() == steady);
    CHECK(clock.system_now() == system - std::chrono::hours(3));
}

TEST_CASE("core.clock: a sleeper wakes when the manual clock passes its time") {
    ManualClock clock;
    std::atomic<int> state{0};
    std::jthread sleeper([&](const std::stop_token& stop) { state = clock.sleep_for(seconds(10), stop) ? 1 : 2; });
    clock.advance(milliseconds(9999));
    CHECK(state == 0);
    clock.advance(milliseconds(1));
    // It may not have begun to sleep before; then its ten seconds count from here.
    while (state == 0) clock.advance(seconds(10));
    CHECK(state == 1);
}

TEST_CASE("core.clock: a stop ends every sleep at once and says so") {
    ManualClock manual;
    for (Clock* clock : {static_cast<Clock*>(&manual), &Clock::real()}) {
        std::atomic<bool> slept_through{true};
        {
            std::jthread sleeper(
                [&](const std::stop_token& stop) { slept_through = clock->sleep_for(std::chrono::hours(1), stop); });
        }
        CHECK_FALSE(slept_through);
    }
}

TEST_CASE("core.clock: a time that has passed is no sleep") {
    CHECK(Clock::real().sleep_until(Clock::real().steady_now() - seconds(1), std::stop_token()));
}

TEST_CASE("core.deadline: what is left is never negative and never is never over") {
    const ManualClock clock;
    const auto now = clock.steady_now();
    const auto deadline = Deadline::in(clock, milliseconds(500));
    CHECK(deadline.left(now) == milliseconds(500));
    CHECK_FALSE(deadline.is_over(now + milliseconds(499)));
    CHECK(deadline.is_over(now + milliseconds(500)));
    CHECK(deadline.left(now + seconds(9)) == milliseconds(0));
    CHECK_FALSE(Deadline::never().is_over(now + std::chrono::hours(100000)));
    CHECK(Deadline::never().left(now) == milliseconds::max());
    CHECK(Deadline::never().earlier(deadline) == deadline);
}
