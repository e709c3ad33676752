// The real binary against a real webhook; what it did is read from the receiver's own log.

#include "support/paths.hpp"
#include "support/process.hpp"
#include "webhook_world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

Process start(const WebhookWorld& world, const std::string& crash_at = "", const std::vector<std::string>& more = {}) {
    ProcessOptions options;
    if (!crash_at.empty()) options.environment["FTL_CRASH_AT"] = crash_at;
    // Somebody's proxy: a send that went there would get nowhere.
    for (const auto* name : {"http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"}) {
        options.environment[name] = "http://127.0.0.1:1";
    }
    options.log = world.temp / "deliver.log";
    auto command = world.command();
    command.insert(command.end(),
                   {"--deliver.allowed_hosts", "127.0.0.1", "--deliver.master_key_file", world.key_file()});
    command.insert(command.end(), more.begin(), more.end());
    return Process(command, options);
}

}  // namespace

TEST_CASE("deliver.webhook: SIGKILL between the answer and its proof sends again under the same id and proves once") {
    const WebhookWorld world;
    const WebhookClient client;
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "body");
    auto first = start(world, "1:deliver.answered");
    const auto end = first.wait(20s);
    REQUIRE(end.has_value());
    CHECK(end->exit_code == 137);
    CHECK(world.count("delivery_state WHERE sending_seq IS NOT NULL") == 1);
    auto second = start(world);
    REQUIRE(wait_until([&] { return world.owed() == 0; }, 20s));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].id == seen[1].id);
    CHECK(seen[1].is_repeated);
    CHECK(seen[1].is_signed);
    CHECK(world.proofs() == 1);
    CHECK(second.terminate(20s).exit_code == 0);
    const auto log = content(world.temp / "deliver.log");
    CHECK(log.find("whsec_") == std::string::npos);
    CHECK(log.find("hunter2") == std::string::npos);
}

TEST_CASE("deliver.webhook: SIGTERM ends a send that hangs after the drain limit and it is in doubt") {
    const WebhookWorld world;
    const WebhookClient client("*: hang-after");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "body");
    auto process = start(world, "", {"--deliver.drain_limit_ms", "500"});
    REQUIRE(client.has_seen(1));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(process.terminate(30s).exit_code == 0);
    CHECK(std::chrono::steady_clock::now() - begin < 8s);
    CHECK(world.attempts("in_doubt") == 1);
}

TEST_CASE("deliver.webhook: SIGTERM waits for the answer of a send under way within its drain limit") {
    const WebhookWorld world;
    const WebhookClient client("1: delay=700");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "body");
    auto process = start(world);
    REQUIRE(client.has_seen(1));
    CHECK(process.terminate(20s).exit_code == 0);
    CHECK(world.proofs() == 1);
    CHECK(client.requests().size() == 1);
}
