// A Redis that is there and of no use: full, a replica, reading its file, or with another password.

#include "cache_world.hpp"
#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/troubled_redis.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

/// Our cache's trouble as /readyz tells it, until it says `code`; then `mend`, and everything is there.
void is_told_and_then_whole(const CacheWorld& world, const std::string& code, const std::string& remedy,
                            const std::vector<std::string>& mend) {
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return running.status().trouble.find(code) != std::string::npos; }));
    const auto trouble = running.status().trouble;
    CHECK(trouble.find("Redis 127.0.0.1:" + std::to_string(world.redis.port())) != std::string::npos);
    CHECK(trouble.find(remedy) != std::string::npos);
    CHECK_FALSE(running.status().is_whole);
    // The destination says so too, and counts nothing as delivered.
    REQUIRE(wait_until([&] {
        return world.count("delivery_assignment WHERE transport = 'cache' AND last_error LIKE '%" + code + "%'") == 1;
    }));
    CHECK(world.proofs() == 0);
    CHECK(world.redis.cli(mend).substr(0, 2) == "OK");
    CHECK(wait_until([&] { return world.has_totals(); }));
    CHECK(wait_until([&] { return world.hash("feed:d:wc/calendar", "sha") == core::sha256_hex("one"); }));
    CHECK(wait_until([&] { return running.status().is_whole; }));
}

CommandResult check(const CacheWorld& world, const RedisServer& redis, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{
        app("ftl-deliver").string(), "--check", "--postgres.uri", world.db.uri(), "--cache.uri", redis.uri()};
    command.insert(command.end(), more.begin(), more.end());
    return run_command(command);
}

}  // namespace

TEST_CASE("deliver.cache_trouble: a full Redis is named with its remedy and holds everything once it has room") {
    const CacheWorld world({"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
    is_told_and_then_whole(world, "OOM", "raise its maxmemory", {"CONFIG", "SET", "maxmemory", "0"});
}

TEST_CASE("deliver.cache_trouble: a replica is named with its remedy and holds everything once it is the master") {
    const CacheWorld world({"--replicaof", "127.0.0.1", "1"});
    is_told_and_then_whole(world, "READONLY", "name the master", {"REPLICAOF", "NO", "ONE"});
}

TEST_CASE("deliver.cache_trouble: a password that is wanted is a lasting refusal told at once and then all is whole") {
    const CacheWorld world({"--requirepass", "right-one"});
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return running.status().trouble.find("give the password") != std::string::npos; }));
    REQUIRE(wait_until([&] {
        return world.count(
                   "delivery_assignment WHERE transport = 'cache' AND refusal_lasts AND last_error LIKE "
                   "'%NOAUTH%'") == 1;
    }));
    CHECK(world.count("alert WHERE kind = 'deliver.failing' AND cleared_at IS NULL") == 1);
    world.redis.cli({"--no-auth-warning", "-a", "right-one", "CONFIG", "SET", "requirepass", ""});
    CHECK(wait_until([&] { return world.has_totals(); }));
    CHECK(wait_until([&] { return world.hash("feed:d:wc/calendar", "sha") == core::sha256_hex("one"); }));
}

TEST_CASE("deliver.cache_trouble: a client's Redis that refuses the password is at the slow pace and another goes on") {
    const CacheWorld world;
    const RedisServer closed({"--requirepass", "right-one"});
    for (const auto* redis : {&world.redis, &closed}) {
        world.db.exec(
            "INSERT INTO delivery_assignment (client_id, name, transport, host, port, first_retry_ms, slow_retry_ms) "
            "SELECT id, 'r" +
            std::to_string(redis->port()) + "', 'redis', '127.0.0.1', " + std::to_string(redis->port()) +
            ", 20, 60000 FROM delivery_client WHERE code = 'acme'");
    }
    auto settings = quick_settings();
    settings.allowed_hosts = {"127.0.0.1"};
    const RunningDispatcher dispatcher(world, settings);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    REQUIRE(wait_until(
        [&] { return world.count("delivery_assignment WHERE transport = 'redis' AND refusal_lasts") == 1; }));
    CHECK(world.count("delivery_attempt t JOIN delivery_assignment a ON a.id = t.assignment_id "
                      "WHERE a.transport = 'redis' AND t.outcome = 'failed'") == 1);
    const auto error =
        world.db.value("SELECT last_error FROM delivery_assignment WHERE transport = 'redis' AND refusal_lasts");
    CHECK(error.find("127.0.0.1:" + std::to_string(closed.port())) != std::string::npos);
    CHECK(error.find("NOAUTH") != std::string::npos);
}

TEST_CASE("deliver.cache_trouble: --check names the Redis and what is wrong with it and what helps") {
    const CacheWorld world;
    CHECK(check(world, world.redis).exit_code == 0);
    CHECK(world.redis.cli({"DBSIZE"}) == "0");
    for (const auto& trouble : troubled_redises()) {
        CAPTURE(trouble.code);
        const auto failed = check(world, *trouble.server);
        INFO(failed.output);
        CHECK(failed.exit_code == 1);
        for (const auto& word :
             {std::string("FAIL  cache: "), std::to_string(trouble.server->port()), trouble.code, trouble.remedy}) {
            CHECK(failed.output.find(word) != std::string::npos);
        }
        trouble.mend();
        CHECK(wait_until([&] { return check(world, *trouble.server).exit_code == 0; }));
    }
    write_file(world.temp / "password", "wrong-one\n");
    const RedisServer closed({"--requirepass", "right-one"});
    const auto refused = check(world, closed, {"--cache.password_file", world.temp / "password"});
    CHECK(refused.exit_code == 1);
    CHECK(refused.output.find("user or password refused (WRONGPASS)") != std::string::npos);
    CHECK((refused.output + refused.errors).find("-one") == std::string::npos);
}
