// A promotion that only some connections have felt yet (design 4): nothing goes out under the epoch before.

#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/deliver/transport.hpp>

#include <vector>

#include "fake_transport.hpp"
#include "world.hpp"

using namespace ftl::test;
namespace core = ftlfeed::core;

TEST_CASE("deliver: a sender that comes to a promoted server first moves the epoch on before it sends anything") {
    const DeliverWorld world;
    world.add_destination("main");
    core::Guarded<std::vector<std::int64_t>> epochs;
    HookedTransport::Hooks hooks;
    hooks.sees = [&](const ftlfeed::deliver::Outgoing& file) {
        epochs.with([&](std::vector<std::int64_t>& all) { all.push_back(file.version.epoch); });
    };
    const RunningDispatcher dispatcher(world, quick_settings(), hooked_directories(hooks));
    world.publish("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    // Another timeline, as far as the record can tell; the dispatcher's own connection lives on and does not look.
    world.db.exec("UPDATE cluster_epoch SET timeline = timeline + 1");
    const auto before = std::stoll(world.db.value("SELECT epoch FROM cluster_epoch"));
    world.db.exec(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name LIKE '% sender' "
        "AND datname = current_database()");
    world.publish("wc/calendar", "two");
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "two"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    const auto sent = epochs.with([](const std::vector<std::int64_t>& all) { return all; });
    REQUIRE(sent.size() >= 2);
    CHECK(sent.front() == 1000);
    for (std::size_t i = 1; i < sent.size(); ++i) CHECK(sent[i] > before);
}
