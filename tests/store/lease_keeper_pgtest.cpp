#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/store/lease_keeper.hpp>
#include <thread>

#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using ftl::test::connect;
using ftl::test::Database;
using ftl::test::wait_until;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr auto kBeat = "SELECT coalesce(max(beat), 0) FROM lease";

/// A keeper on a thread of its own that looks every 20 ms.
class Kept {
public:
    explicit Kept(const Database& db, core::Clock& clock = core::Clock::real(),
                  milliseconds interval = milliseconds(20))
        : keeper([&db] { return connect(db); }, {"ingest:sportmonks", seconds(8), interval, interval}, clock,
                 [this] { ++changes; }) {}

    void stop() { runner = {}; }

    std::atomic<int> changes = 0;
    store::LeaseKeeper keeper;
    std::jthread runner{[this](const std::stop_token& stop) { keeper.run(stop); }};
};

}  // namespace

TEST_CASE("store.lease_keeper: a second one stands by and takes over at once when the first ends in order") {
    const Database db;
    Kept first(db);
    REQUIRE(wait_until([&] { return first.keeper.state().is_valid; }));
    Kept second(db);
    const auto beat = db.value(kBeat);
    REQUIRE(wait_until([&] { return db.value(kBeat) != beat; }));
    REQUIRE(wait_until([&] { return second.keeper.held().trouble.find("another process") != std::string::npos; }));
    CHECK_FALSE(second.keeper.state().is_valid);
    const auto generation = second.keeper.state().generation;
    first.stop();
    CHECK(wait_until([&] { return second.keeper.state().is_valid; }, seconds(5)));
    CHECK(second.keeper.state().generation > generation);
    CHECK(second.keeper.held().fence == 2);
    CHECK_FALSE(first.keeper.state().is_valid);
    CHECK(first.keeper.held().fence == 0);
}

TEST_CASE("store.lease_keeper: who asks to be told is told when the lease is won and when it is given up") {
    const Database db;
    Kept kept(db);
    REQUIRE(wait_until([&] { return kept.changes == 1; }));
    CHECK(kept.keeper.state().is_valid);
    const auto beat = db.value(kBeat);
    REQUIRE(wait_until([&] { return db.value(kBeat) != beat; }));
    kept.stop();
    CHECK(kept.changes == 2);
    CHECK(db.value("SELECT holder FROM lease").empty());
}

TEST_CASE("store.lease_keeper: what is not renewed in time is no longer valid by its own steady clock") {
    const Database db;
    core::ManualClock clock;
    Kept kept(db, clock, seconds(2));
    const auto& keeper = kept.keeper;
    REQUIRE(wait_until([&] { return keeper.state().is_valid; }));
    const auto generation = keeper.state().generation;
    clock.step_system(hours(-48));  // A step of the wall clock ends nothing.
    CHECK(keeper.state().is_valid);
    clock.advance(seconds(8));  // The process slept: at once it is not valid, and then it is held anew, after a break.
    CHECK(wait_until([&] { return keeper.state().is_valid && keeper.state().generation > generation; }));
}
