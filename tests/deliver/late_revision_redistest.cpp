// E31 at each kind of receiver that there is.

#include "cache_world.hpp"
#include "webhook_world.hpp"

using namespace ftl::test;

namespace {

/// A folder, a webhook and a client's Redis, each of which wants everything.
class Receivers : public WebhookWorld {
public:
    Receivers() {
        add_destination("folder");
        add_webhook("hook", webhook.port());
        db.exec(
            "INSERT INTO delivery_assignment (client_id, name, transport, host, port, first_retry_ms, slow_retry_ms) "
            "SELECT id, 'redis', 'redis', '127.0.0.1', " +
            std::to_string(redis.port()) + ", 20, 100 FROM delivery_client WHERE code = 'acme'");
    }
    [[nodiscard]] bool all_hold(const std::string& doc_key, const std::string& body) const {
        return content(folder("folder") / (doc_key + ".json")) == body && webhook.body(doc_key) == body &&
               CacheWorld::has_file(redis, doc_key, body);
    }

    WebhookClient webhook;
    RedisServer redis;
};

}  // namespace

TEST_CASE("E31: of two revisions of one file whose older one is committed last every receiver ends with the newer") {
    const Receivers world;
    const RunningDispatcher dispatcher(world, world.settings());
    // The older one has drawn its number, and its transaction goes on.
    const auto older = std::stoll(world.db.value("SELECT nextval('version_seq')"));
    world.publish("wc/calendar", "newer");
    REQUIRE(wait_until([&] { return world.all_hold("wc/calendar", "newer") && world.proofs() == 3; }));
    world.db.exec(DeliverWorld::publish_sql("wc/calendar", "older", older, "clock_timestamp()", false) +
                  "; NOTIFY ftl_document");
    // Whoever wants to send the older one does it before what comes after it.
    world.publish("wc/scorers", "afterwards");
    REQUIRE(wait_until([&] { return world.all_hold("wc/scorers", "afterwards") && world.proofs() == 6; }));
    REQUIRE(wait_until([&] { return world.owed() == 0 && dispatcher.status().owed_files == 0; }));
    CHECK(world.all_hold("wc/calendar", "newer"));
    CHECK(world.webhook.requests().size() == 2);
    CHECK(world.count("delivery_attempt WHERE seq = " + std::to_string(older)) == 0);
    // The number decides, not the order: the next one after both is sent.
    world.publish("wc/calendar", "newest");
    CHECK(wait_until([&] { return world.all_hold("wc/calendar", "newest"); }));
}
