#include <doctest/doctest.h>

#include <ftlfeed/deliver/cache_keeper.hpp>

#include "deliver/cache_comparison.hpp"

using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
namespace core = ftlfeed::core;

namespace {

constexpr core::Version kOurs{1000, 50, 2};
const core::SteadyTime kNow{1h};

}  // namespace

TEST_CASE("deliver.cache_comparison: a key is behind or the same or ahead by all three parts of its version") {
    CHECK(standing_of(kOurs, std::nullopt) == CacheStanding::kBehind);
    CHECK(standing_of(kOurs, core::Version{999, 90, 9}) == CacheStanding::kBehind);
    CHECK(standing_of(kOurs, core::Version{1000, 49, 9}) == CacheStanding::kBehind);
    CHECK(standing_of(kOurs, core::Version{1000, 50, 1}) == CacheStanding::kBehind);
    CHECK(standing_of(kOurs, kOurs) == CacheStanding::kSame);
    CHECK(standing_of(kOurs, core::Version{1000, 50, 3}) == CacheStanding::kAhead);
    CHECK(standing_of(kOurs, core::Version{1000, 51, 0}) == CacheStanding::kAhead);
    CHECK(standing_of(kOurs, core::Version{1001, 0, 0}) == CacheStanding::kAhead);
}

TEST_CASE("deliver.cache_comparison: totals are due every second and documents every ten") {
    CHECK(CacheKeeperSettings().totals_interval == 1s);
    CHECK(CacheKeeperSettings().documents_interval == 10s);
    ComparisonSchedule schedule(1s, 10s);
    CHECK(schedule.due(kNow, 1).totals);
    CHECK(schedule.due(kNow, 1).documents);
    schedule.totals_compared(kNow, false);
    schedule.documents_compared(kNow, 1);
    CHECK_FALSE(schedule.due(kNow + 999ms, 1).totals);
    CHECK(schedule.due(kNow + 1s, 1).totals);
    CHECK_FALSE(schedule.due(kNow + 9999ms, 1).documents);
    CHECK(schedule.due(kNow + 10s, 1).documents);
    CHECK(schedule.wake_at() == kNow + 1s);
}

TEST_CASE("deliver.cache_comparison: everything is due at once after a reconnect or when a total was lost") {
    ComparisonSchedule schedule(1s, 10s);
    const auto settle = [&](std::uint64_t connections) {
        schedule.totals_compared(kNow, false);
        schedule.documents_compared(kNow, connections);
    };
    settle(1);
    CHECK(schedule.due(kNow, 2).totals);
    CHECK(schedule.due(kNow, 2).documents);
    settle(2);
    CHECK_FALSE(schedule.due(kNow, 2).documents);
    schedule.totals_compared(kNow, true);
    CHECK(schedule.due(kNow, 2).documents);
    settle(2);
    schedule.start_anew();
    CHECK(schedule.due(kNow, 2).totals);
    CHECK(schedule.due(kNow, 2).documents);
}

TEST_CASE("deliver.cache_comparison: a connection that was lost during a comparison leaves it due") {
    ComparisonSchedule schedule(1s, 10s);
    // The comparison began on the first connection and another was made meanwhile.
    schedule.totals_compared(kNow, false);
    schedule.documents_compared(kNow, 1);
    CHECK(schedule.due(kNow, 2).documents);
}
