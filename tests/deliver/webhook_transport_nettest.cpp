#include <ftlfeed/deliver/webhook_transport.hpp>

#include <doctest/doctest.h>

#include <chrono>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>

#include "webhook_sending.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace ftlfeed::deliver;
using std::chrono::minutes;

TEST_CASE("E37: a retry after six minutes has a new timestamp and signature and the same id") {
    const WebhookClient client("1: status=503");
    // The first attempt was made six minutes ago: its signature is too old for a receiver that allows five.
    core::ManualClock clock(core::SteadyTime{} + std::chrono::hours(1), std::chrono::system_clock::now() - minutes(6));
    auto transport = webhook_transport(client.port(), clock, {kWebhookSecret});
    OpenGuard guard;
    const WebhookFile file;
    CHECK_THROWS_AS(static_cast<void>(transport.put(file.outgoing(), guard)), core::Failure);
    clock.advance(minutes(6));
    CHECK(std::holds_alternative<Stored>(transport.put(file.outgoing(), guard)));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].id == "7-wc~calendar-1000-42-1-0");
    CHECK(seen[1].id == seen[0].id);
    CHECK_FALSE(seen[0].is_signed);
    CHECK(seen[1].is_signed);
    CHECK(seen[1].status == 204);
}

TEST_CASE("deliver.webhook: another occasion of a version has an id of its own") {
    const WebhookClient client;
    auto transport = webhook_transport(client.port(), core::Clock::real(), {kWebhookSecret});
    OpenGuard guard;
    const WebhookFile file;
    CHECK(std::holds_alternative<Stored>(transport.put(file.outgoing(), guard)));
    CHECK(std::holds_alternative<Stored>(transport.put(file.outgoing(1), guard)));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 2);
    CHECK(seen[1].id == "7-wc~calendar-1000-42-1-1");
    CHECK_FALSE(seen[1].is_repeated);
}

TEST_CASE("deliver.webhook: what is withheld right before its first byte is never seen by the receiver") {
    const WebhookClient client;
    auto transport = webhook_transport(client.port(), core::Clock::real(), {kWebhookSecret});
    OpenGuard guard;
    guard.may = false;
    const WebhookFile file;
    CHECK(std::holds_alternative<Withheld>(transport.put(file.outgoing(), guard)));
    guard.may = true;
    CHECK(std::holds_alternative<Stored>(transport.put(file.outgoing(), guard)));
    CHECK(client.requests().size() == 1);
}

TEST_CASE("deliver.webhook: a test is a signed message of its own and names no file") {
    const WebhookClient client;
    auto transport = webhook_transport(client.port(), core::Clock::real(), {kWebhookSecret});
    OpenGuard guard;
    CHECK(std::holds_alternative<Stored>(transport.test(guard)));
    CHECK(std::holds_alternative<Stored>(transport.test(guard)));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 2);
    CHECK(seen[0].event == "test");
    CHECK(seen[0].is_signed);
    CHECK(seen[0].path.empty());
    CHECK(seen[0].id != seen[1].id);
}

TEST_CASE("deliver.webhook: a receiver cannot be looked at") {
    const WebhookClient client;
    auto transport = webhook_transport(client.port(), core::Clock::real(), {kWebhookSecret});
    OpenGuard guard;
    const WebhookFile file;
    CHECK(transport.look(file.outgoing(), guard) == Look::kCannot);
    CHECK(client.requests().empty());
}
