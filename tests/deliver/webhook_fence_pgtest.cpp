#include "support/handler_server.hpp"
#include "webhook_world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

TEST_CASE("deliver.webhook: no host in whatever spelling reaches this machine unless the fence names its address") {
    const WebhookWorld world;
    HandlerServer listener([](ServerSide& side) { side.send(http_answer(204)); });
    std::vector<std::string> hosts{"127.0.0.1", "2130706433", "0x7f000001",       "017700000001",
                                   "127.1",     "0.0.0.0",    "::ffff:127.0.0.1", "::ffff:7f00:1",
                                   "::1",       "localhost",  "10.0.0.1",         "169.254.169.254"};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        world.add_webhook("h" + std::to_string(i), listener.port());
        world.db.exec("UPDATE delivery_assignment SET host = '" + hosts[i] + "' WHERE name = 'h" + std::to_string(i) +
                      "'");
    }
    world.publish("wc/calendar", "body");
    auto settings = world.settings();
    settings.allowed_hosts = {"*", "localhost"};
    {
        const RunningDispatcher dispatcher(world, settings);
        REQUIRE(wait_until(
            [&] { return world.open_alerts("deliver.failing") == static_cast<std::int64_t>(hosts.size()); }, 20s));
    }
    CHECK(listener.connections() == 0);
    CHECK(world.count("delivery_assignment WHERE NOT refusal_lasts OR last_error NOT LIKE '%outside the fence%'") == 0);
    // Nor does an error name an address that a name led to.
    CHECK(world.count("delivery_assignment WHERE host LIKE 'localhost%' AND last_error LIKE '%127.0.0.1%'") == 0);
    // Named by its block it is reached, in other spellings too.
    settings.allowed_hosts = {"127.0.0.0/8"};
    world.db.exec("UPDATE delivery_assignment SET next_try = NULL");
    const RunningDispatcher dispatcher(world, settings);
    CHECK(wait_until([&] { return listener.connections() >= 5; }));
}
