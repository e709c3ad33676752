#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/lease.hpp>
#include <thread>
#include <vector>

#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using ftl::test::Database;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kTtl{8000};

/// One machine: a clock, a session, and its try at the lease.
struct Machine {
    core::ManualClock clock;
    store::Session session;
    store::Lease lease;

    Machine(const Database& db, const std::string& holder, seconds uptime)
        : clock(core::SteadyTime{} + uptime), session(connect(db)), lease("ingest", holder, kTtl, clock) {}
    bool renew() { return lease.renew(session); }
};

}  // namespace

TEST_CASE("store.lease: the first one gets it and the second does not while it is renewed") {
    const Database db;
    // Steady clocks of two machines have nothing to do with each other.
    Machine a(db, "a", hours(1));
    Machine b(db, "b", hours(900));
    CHECK(a.renew());
    CHECK(a.lease.fence() == 1);
    CHECK(a.lease.valid_until() == a.clock.steady_now() + kTtl);
    for (int i = 0; i < 20; ++i) {
        CHECK_FALSE(b.renew());
        a.clock.advance(seconds(2));
        b.clock.advance(seconds(2));
        CHECK(a.renew());
    }
    CHECK(a.lease.fence() == 1);
    CHECK_FALSE(b.lease.is_held());
}

TEST_CASE("store.lease: it is taken over when a watcher saw it unmoved for the TTL by its own steady clock") {
    const Database db;
    Machine a(db, "a", hours(1));
    Machine b(db, "b", hours(2));
    REQUIRE(a.renew());
    CHECK_FALSE(b.renew());  // The first sight.
    b.clock.advance(kTtl - milliseconds(1));
    CHECK_FALSE(b.renew());
    b.clock.advance(milliseconds(1));
    CHECK(b.renew());
    CHECK(b.lease.fence() == 2);
    // The old holder finds that out, and does not take it back.
    a.clock.advance(kTtl);
    CHECK_FALSE(a.renew());
    CHECK_FALSE(a.lease.is_held());
    CHECK_FALSE(a.lease.is_valid(a.clock.steady_now()));
}

TEST_CASE("store.lease: a step of anybody's system clock ends nothing") {
    const Database db;
    Machine a(db, "a", hours(1));
    Machine b(db, "b", hours(2));
    REQUIRE(a.renew());
    CHECK_FALSE(b.renew());
    a.clock.step_system(-hours(1000));
    b.clock.step_system(hours(1000));
    CHECK_FALSE(b.renew());
    CHECK(a.lease.is_valid(a.clock.steady_now()));
    CHECK(a.renew());
}

TEST_CASE("store.lease: the stamp in the row decides nothing") {
    const Database db;
    Machine a(db, "a", hours(1));
    Machine b(db, "b", hours(2));
    REQUIRE(a.renew());
    db.exec("UPDATE lease SET renewed_at = now() - interval '1 year'");
    CHECK_FALSE(b.renew());
}

TEST_CASE("store.lease: given up it is free at once and its fence grows all the same") {
    const Database db;
    Machine a(db, "a", hours(1));
    Machine b(db, "b", hours(2));
    REQUIRE(a.renew());
    a.lease.release(a.session);
    CHECK_FALSE(a.lease.is_held());
    CHECK(b.renew());
    CHECK(b.lease.fence() == 2);
    a.lease.release(a.session);  // Does nothing: it is not ours.
    CHECK(b.renew());
}

TEST_CASE("store.lease: a holder that slept through its TTL unnoticed goes on under the same fence") {
    const Database db;
    Machine a(db, "a", hours(1));
    REQUIRE(a.renew());
    a.clock.advance(kTtl * 3);
    CHECK_FALSE(a.lease.is_valid(a.clock.steady_now()));
    CHECK(a.renew());
    CHECK(a.lease.fence() == 1);
    CHECK(a.lease.is_valid(a.clock.steady_now()));
}

TEST_CASE("store.lease: with Postgres out of reach the validity stands until its time and no longer") {
    const Database db;
    Machine a(db, "a", hours(1));
    REQUIRE(a.renew());
    const auto valid_until = a.lease.valid_until();
    db.exec("SELECT pg_terminate_backend(" + std::to_string(a.session.backend_pid()) + ", 10000)");
    REQUIRE(ftl::test::wait_until([&] { return a.session.is_broken(); }));
    a.clock.advance(kTtl - milliseconds(1));
    CHECK_THROWS_AS(static_cast<void>(a.renew()), core::Failure);
    CHECK(a.lease.valid_until() == valid_until);
    CHECK(a.lease.is_valid(a.clock.steady_now()));
    a.clock.advance(milliseconds(1));
    CHECK_FALSE(a.lease.is_valid(a.clock.steady_now()));
}

TEST_CASE("store.lease: of many that find it stale at once one gets it") {
    const Database db;
    Machine dead(db, "dead", hours(1));
    REQUIRE(dead.renew());
    constexpr int kWatchers = 6;
    std::barrier all_ready(kWatchers);
    std::atomic<int> got_it{0};
    {
        std::vector<std::jthread> watchers;
        for (int i = 0; i < kWatchers; ++i) {
            watchers.emplace_back([&, i] {
                Machine machine(db, "w" + std::to_string(i), hours(i));
                static_cast<void>(machine.renew());
                machine.clock.advance(kTtl);
                all_ready.arrive_and_wait();
                if (machine.renew()) ++got_it;
            });
        }
    }
    CHECK(got_it == 1);
    CHECK(db.value("SELECT fence FROM lease") == "2");
}

TEST_CASE("store.lease: of many that make it at once one gets it") {
    const Database db;
    constexpr int kMakers = 6;
    std::barrier all_ready(kMakers);
    std::atomic<int> got_it{0};
    {
        std::vector<std::jthread> makers;
        for (int i = 0; i < kMakers; ++i) {
            makers.emplace_back([&, i] {
                Machine machine(db, "m" + std::to_string(i), hours(i));
                all_ready.arrive_and_wait();
                if (machine.renew()) ++got_it;
            });
        }
    }
    CHECK(got_it == 1);
}
