// What a real Redis answers when it cannot do what it is asked: the errors, where one Redis can be brought to them.
#include <doctest/doctest.h>

#include <string>

#include <ftlfeed/cache/cache_client.hpp>

#include "cache/loop.hpp"
#include "support/free_port.hpp"
#include "support/redis.hpp"
#include "support/troubled_redis.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::Command;
using cache::ConnectionSettings;
using cache::Key;
using std::chrono::milliseconds;
using Kind = core::Failure::Kind;

namespace {

template <typename Call>
core::Failure failure_in(Call call) {
    try {
        call();
    } catch (const core::Failure& failure) {
        return failure;
    }
    return core::Failure::permanent("it did not fail");
}

const cache::Fields kTotal{{"t", "1"}};

}  // namespace

TEST_CASE("cache.server_failures: a full Redis refuses puts and goes on to answer looks") {
    RedisServer redis({"--maxmemory", "3mb", "--maxmemory-policy", "noeviction"});
    cache::CacheClient client(to(redis));
    CHECK(client.put_if_newer(Key("first"), {1, 1, 0}, kTotal) == cache::PutOutcome(cache::Stored{}));
    const cache::Fields big{{"gz", std::string(1'000'000, 'x')}};
    const auto failure = failure_in([&] {
        for (int i = 0; i < 20; ++i) static_cast<void>(client.put_if_newer(Key::bump(i), {1, 1, 0}, big));
    });
    CHECK(failure.kind() == Kind::kUnavailable);
    CHECK(failure.native_code() == "OOM");
    CHECK_FALSE(failure.connection_lost());
    CHECK(client.version(Key("first")) == core::Version{1, 1, 0});
    CHECK(client.server().connections == 1);
}

TEST_CASE("cache.server_failures: a replica refuses puts and the connection looks for the master again") {
    RedisServer master({"--repl-diskless-sync-delay", "0"});
    RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
    cache::CacheClient client(to(replica));
    REQUIRE(wait_until([&] {
        return replica.cli({"INFO", "replication"}).find("link_status:up") != std::string::npos;
    }));
    client.ping();
    const auto failure = failure_in([&] { static_cast<void>(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal)); });
    CHECK(failure.native_code() == "READONLY");
    CHECK(failure.may_retry());
    REQUIRE(wait_until([&] { return client.server().connections == 2; }));
    replica.cli({"REPLICAOF", "NO", "ONE"});
    CHECK(wait_until([&] {
        try {
            return client.put_if_newer(Key("a"), {1, 1, 0}, kTotal) == cache::PutOutcome(cache::Stored{});
        } catch (const core::Failure&) {
            return false;
        }
    }));
}

TEST_CASE("cache.server_failures: a replica that has lost its master and may not show old data is left") {
    RedisServer master({"--repl-diskless-sync-delay", "0"});
    RedisServer replica(
        {"--replicaof", "127.0.0.1", std::to_string(master.port()), "--replica-serve-stale-data", "no"});
    REQUIRE(wait_until([&] {
        return replica.cli({"INFO", "replication"}).find("link_status:up") != std::string::npos;
    }));
    master.kill();
    REQUIRE(wait_until([&] { return replica.cli({"GET", "x"}).find("MASTERDOWN") != std::string::npos; }));
    cache::CacheClient client(to(replica));
    const auto failure = failure_in([&] { static_cast<void>(client.version(Key("a"))); });
    CHECK(failure.native_code() == "MASTERDOWN");
    CHECK(failure.connection_lost());
    CHECK(wait_until([&] { return client.server().connections >= 2; }));
}

TEST_CASE("cache.server_failures: whoever cannot take writes is found by a try that leaves nothing and then mended") {
    for (const auto& [server, code, remedy] : troubled_redises()) {
        CAPTURE(code);
        cache::CacheClient client(to(*server));
        const auto failure = failure_in([&] { client.try_write(); });
        const std::string told = failure.what();
        CHECK(failure.native_code() == code);
        CHECK(told.find("Redis 127.0.0.1:" + std::to_string(server->port())) != std::string::npos);
        CHECK(told.find(remedy) != std::string::npos);
        // A refused password is a person's matter; the others may end by themselves.
        CHECK(failure.may_retry() == (code != "NOAUTH"));
    }
    RedisServer redis;
    cache::CacheClient client(to(redis));
    CHECK_NOTHROW(client.try_write());
    CHECK_NOTHROW(client.try_write("acme:"));
    CHECK(redis.cli({"DBSIZE"}) == "0");
}

TEST_CASE("cache.server_failures: a refused password lasts for every call and is over when it is right") {
    RedisServer redis({"--requirepass", "right-one"});
    auto settings = to(redis);
    settings.password = core::Secret("wrong-one");
    cache::CacheClient client(settings);
    for (int i = 0; i < 3; ++i) {
        const auto failure = failure_in([&] { static_cast<void>(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal)); });
        CHECK(failure.native_code() == "WRONGPASS");
        CHECK_FALSE(failure.may_retry());
        CHECK(std::string(failure.what()).find("-one") == std::string::npos);
    }
    redis.cli({"--no-auth-warning", "-a", "right-one", "CONFIG", "SET", "requirepass", "wrong-one"});
    CHECK(wait_until([&] { return client.server().is_connected; }));
    CHECK_NOTHROW(client.try_write());
}

TEST_CASE(
    "cache.server_failures: one that hides INFO and CLIENT and CONFIG is worked with as hosts of Redis rename them") {
    RedisServer redis(
        {"--rename-command", "INFO", "", "--rename-command", "CLIENT", "", "--rename-command", "CONFIG", ""});
    cache::CacheClient client(to(redis));
    CHECK(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal) == cache::PutOutcome(cache::Stored{}));
    CHECK(client.fetch(Key("a"))->fields == kTotal);
    CHECK(client.server().run_id.empty());
}

TEST_CASE("cache.server_failures: one that lacks a command that is needed says so for good") {
    RedisServer redis({"--rename-command", "EVALSHA", ""});
    cache::CacheClient client(to(redis));
    const auto failure = failure_in([&] { static_cast<void>(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal)); });
    CHECK_FALSE(failure.may_retry());
    CHECK(std::string(failure.what()).find("'EVALSHA'") != std::string::npos);
    CHECK(std::string(failure.what()).find("too old") != std::string::npos);
}

TEST_CASE("cache.server_failures: one that has lost its replicas refuses puts") {
    RedisServer redis({"--min-replicas-to-write", "1"});
    cache::CacheClient client(to(redis));
    const auto failure = failure_in([&] { static_cast<void>(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal)); });
    CHECK(failure.native_code() == "NOREPLICAS");
    CHECK(failure.kind() == Kind::kUnavailable);
}

TEST_CASE("cache.server_failures: without the password that is wanted every call says so") {
    RedisServer redis({"--requirepass", "secret"});
    cache::CacheClient client(to(redis));
    const auto failure = failure_in([&] { client.ping(); });
    CHECK(failure.native_code() == "NOAUTH");
    CHECK(client.server().trouble.find("NOAUTH") != std::string::npos);
}

TEST_CASE("cache.server_failures: one that reads its file at the start is busy and then answers") {
    // Twenty seconds, unless it is told to hurry.
    RedisServer redis({"--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024"});
    redis.cli({"EVAL", "for i = 1, 1000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end", "0"});
    redis.cli({"SAVE"});
    redis.kill();
    redis.start();
    cache::CacheClient client(to(redis));
    const auto failure = failure_in([&] { static_cast<void>(client.version(Key("a"))); });
    CHECK(failure.native_code() == "LOADING");
    CHECK(failure.kind() == Kind::kBusy);
    CHECK(redis.cli({"CONFIG", "SET", "key-load-delay", "0"}) == "OK");
    CHECK(wait_until([&] {
        try {
            return !client.version(Key("a"));
        } catch (const core::Failure&) {
            return false;
        }
    }));
}

TEST_CASE("cache.server_failures: one that runs somebody's endless script is busy") {
    RedisServer redis({"--busy-reply-threshold", "20"});
    LoopConnection endless(to(redis));
    cache::CacheClient client(to(redis));
    client.ping();
    REQUIRE(wait_until([&] { return endless.is_up(); }));
    const auto running = endless.ask(Command::changing({"EVAL", "while true do end", "0"}), milliseconds(60'000));
    REQUIRE(wait_until([&] { return redis.cli({"GET", "a"}).find("BUSY") != std::string::npos; }));
    const auto failure = failure_in([&] { static_cast<void>(client.version(Key("a"))); });
    CHECK(failure.native_code() == "BUSY");
    CHECK(failure.kind() == Kind::kBusy);
    CHECK(redis.cli({"SCRIPT", "KILL"}) == "OK");
    CHECK_NOTHROW(client.ping());
}

TEST_CASE("cache.server_failures: a cluster is told apart from a Redis that is down") {
    RedisServer redis({"--cluster-enabled", "yes"});
    LoopConnection connection(to(redis));
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    CHECK(failure_of(connection.ask(Command::reading({"GET", "a"}))).native_code() == "CLUSTERDOWN");
    CHECK(redis.cli({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
    REQUIRE(wait_until([&] { return redis.cli({"GET", "a"}).empty(); }));
    const auto failure = failure_of(
        connection.ask(Command::changing({"EVAL", "return redis.call('SET', KEYS[1], KEYS[2])", "2", "a", "b"})));
    CHECK(failure.native_code() == "CROSSSLOT");
    CHECK(failure.kind() == Kind::kPermanent);
}

TEST_CASE("cache.server_failures: a script of ours works in a cluster since it has one key") {
    RedisServer redis({"--cluster-enabled", "yes"});
    CHECK(redis.cli({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}) == "OK");
    REQUIRE(wait_until([&] { return redis.cli({"GET", "a"}).empty(); }));
    cache::CacheClient client(to(redis));
    CHECK(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal) == cache::PutOutcome(cache::Stored{}));
}

TEST_CASE("cache.server_failures: what a node of a cluster does not hold is refused with the remedy") {
    const std::vector<std::string> ports{std::to_string(free_port()), std::to_string(free_port())};
    RedisServer ours({"--cluster-enabled", "yes", "--cluster-port", ports[0]});
    RedisServer other({"--cluster-enabled", "yes", "--cluster-port", ports[1]});
    CHECK(ours.cli({"CLUSTER", "ADDSLOTSRANGE", "0", "8191"}) == "OK");
    CHECK(other.cli({"CLUSTER", "ADDSLOTSRANGE", "8192", "16383"}) == "OK");
    CHECK(ours.cli({"CLUSTER", "MEET", "127.0.0.1", std::to_string(other.port()), ports[1]}) == "OK");
    // Slot 15495 is the other's.
    REQUIRE(wait_until([&] { return ours.cli({"GET", "a"}).starts_with("MOVED 15495"); }));
    cache::CacheClient client(to(ours));
    const auto is_clear = [](const core::Failure& failure, const std::string& code) {
        CHECK(failure.native_code() == code);
        CHECK(failure.kind() == Kind::kPermanent);
        CHECK(std::string(failure.what()).find("one server that holds all keys is needed") != std::string::npos);
    };
    is_clear(failure_in([&] { static_cast<void>(client.version(Key("a"))); }), "MOVED");
    is_clear(failure_in([&] { static_cast<void>(client.put_if_newer(Key("a"), {1, 1, 0}, kTotal)); }), "MOVED");
    CHECK(other.cli({"EXISTS", "a"}) == "0");
    // Slot 3300 is ours, and on its way to the other.
    const auto id = other.cli({"CLUSTER", "MYID"});
    CHECK(ours.cli({"CLUSTER", "SETSLOT", "3300", "MIGRATING", id}) == "OK");
    is_clear(failure_in([&] { static_cast<void>(client.version(Key("b"))); }), "ASK");
    is_clear(failure_in([&] { static_cast<void>(client.put_if_newer(Key("b"), {1, 1, 0}, kTotal)); }), "ASK");
}

TEST_CASE("cache.server_failures: one that takes no more clients is tried again until it does") {
    RedisServer redis({"--maxclients", "1"});
    LoopConnection first(to(redis));
    REQUIRE(wait_until([&] { return first.is_up(); }));
    std::atomic<int> refusals{0};
    LoopConnection second(to(redis), {{}, [&](const auto&) { ++refusals; }});
    REQUIRE(wait_until([&] { return refusals >= 2; }));
    first.loop().run([&] { first.inside().close(); });
    CHECK(wait_until([&] { return second.is_up(); }));
}
