#include <doctest/doctest.h>
#include <unistd.h>

#include <ftlfeed/store/lease.hpp>

using namespace ftlfeed;
using namespace ftlfeed::store;
using std::chrono::milliseconds;

TEST_CASE("store.lease_watch: a counter is stale once it was seen unmoved for the TTL and not before") {
    const core::ManualClock clock;
    const auto begin = clock.steady_now();
    LeaseWatch watch(milliseconds(8000));
    CHECK_FALSE(watch.is_stale("a", 1, begin));
    CHECK_FALSE(watch.is_stale("a", 1, begin + milliseconds(7999)));
    CHECK(watch.is_stale("a", 1, begin + milliseconds(8000)));
}

TEST_CASE("store.lease_watch: a beat or another holder begins the wait anew") {
    const core::ManualClock clock;
    const auto begin = clock.steady_now();
    LeaseWatch watch(milliseconds(8000));
    CHECK_FALSE(watch.is_stale("a", 1, begin));
    CHECK_FALSE(watch.is_stale("a", 2, begin + milliseconds(7000)));
    CHECK_FALSE(watch.is_stale("a", 2, begin + milliseconds(14999)));
    CHECK_FALSE(watch.is_stale("b", 2, begin + milliseconds(15000)));
    CHECK(watch.is_stale("b", 2, begin + milliseconds(23000)));
}

TEST_CASE("store.lease_watch: the first look never finds a lease stale however late it comes") {
    LeaseWatch watch(milliseconds(8000));
    CHECK_FALSE(watch.is_stale("a", 77, core::ManualClock().steady_now() + std::chrono::hours(1000)));
}

TEST_CASE("store.lease: two names of one process are equal and hold host and pid") {
    CHECK(process_identity() == process_identity());
    CHECK(process_identity().find(':' + std::to_string(getpid()) + ':') != std::string::npos);
}
