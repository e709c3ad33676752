// A webhook's send and the lease of the worker that sends: whoever may have lost its destinations has nothing under way.

#include <chrono>

#include "webhook_world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

constexpr auto kTtl = 3000ms;

ftlfeed::deliver::DeliverSettings with_short_lease(const WebhookWorld& world) {
    auto settings = world.settings();
    settings.lease_ttl = kTtl;
    settings.lease_margin = 1000ms;
    settings.drain_limit = 200ms;
    return settings;
}

}  // namespace

TEST_CASE("deliver.webhook: a send whose lease can no longer be renewed ends before the lease does") {
    const WebhookWorld world;
    // By its own limits it would wait for two minutes.
    const WebhookClient client("*: hang-after");
    world.add_webhook("main", client.port());
    const RunningDispatcher dispatcher(world, with_short_lease(world));
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 1; }));
    world.publish("wc/calendar", "body");
    REQUIRE(client.has_seen(1));
    auto blocker = world.db.connect();
    pqxx::work hold(blocker);
    hold.exec("SELECT * FROM lease WHERE name = 'deliver:main' FOR UPDATE");
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(wait_until([&] { return world.attempts("in_doubt") == 1; }));
    // From the last renewal that can have begun before.
    CHECK(std::chrono::steady_clock::now() - begin < kTtl);
    CHECK(world.count("delivery_attempt WHERE error LIKE '%the time for this send is over%'") == 1);
    // And without the lease it is not sent again.
    CHECK(client.requests().size() == 1);
}

TEST_CASE("deliver.webhook: a send goes on for longer than the lease while that is renewed") {
    const WebhookWorld world;
    const WebhookClient client("1: delay=4000");
    world.add_webhook("main", client.port());
    const RunningDispatcher dispatcher(world, with_short_lease(world));
    world.publish("wc/calendar", "body");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    CHECK(client.requests().size() == 1);
    CHECK(world.db.value("SELECT ended_at - started_at > interval '3 seconds' FROM delivery_attempt") == "t");
}

TEST_CASE("deliver.webhook: a newer version waits for the send under way and the receiver ends with it") {
    const WebhookWorld world;
    const WebhookClient client("1: delay=1000");
    world.add_webhook("main", client.port());
    const RunningDispatcher dispatcher(world, world.settings());
    world.publish("wc/calendar", "old");
    REQUIRE(client.has_seen(1));
    world.publish("wc/calendar", "newer");
    world.publish("wc/calendar", "newest");
    CHECK(client.holds("wc/calendar", "newest"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    const auto seen = client.requests();
    // Those between are explained by the history, and no request overtook another.
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].version < seen[1].version);
    CHECK(world.proofs() == 2);
}
