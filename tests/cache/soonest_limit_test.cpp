#include "cache/soonest_limit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>

#include "support/rng.hpp"

using ftlfeed::cache::SoonestLimit;
using ftlfeed::core::SteadyTime;

TEST_CASE("cache.soonest_limit: it is the least of all that wait whatever comes and goes") {
    FTL_RNG(rng);
    SoonestLimit limits;
    std::deque<SteadyTime> waiting;
    for (int step = 0; step < 20'000; ++step) {
        if (waiting.empty() || rng.chance(0.5)) {
            waiting.push_back(SteadyTime(std::chrono::seconds(rng.between(0, 50))));
            limits.push(waiting.back());
        } else {
            waiting.pop_front();
            limits.pop();
        }
        const auto least = std::min_element(waiting.begin(), waiting.end());
        if (least == waiting.end()) {
            CHECK_FALSE(limits.soonest());
        } else {
            CHECK(limits.soonest() == *least);
        }
    }
    limits.clear();
    CHECK_FALSE(limits.soonest());
}
