// A Redis that is there and of no use: full, a replica, reading its file, with another password, or not there at the start.

#include "support/troubled_redis.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace std::chrono_literals;

namespace {

const std::string kFile = "/feeds/wc/calendar";

bool logs(const ServeWorld& world, const std::string& event, const std::string& word) {
    const auto log = world.log();
    const auto at = log.find(event);
    return at != std::string::npos && log.find(word, at) != std::string::npos;
}

bool has(const RedisServer& redis, const std::string& key) { return redis.cli({"EXISTS", key}) == "1"; }

CommandResult check(const std::string& postgres, const RedisServer& redis, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command{
        app("ftl-serve").string(), "--check", "--postgres.uri", postgres, "--cache.uri", redis.uri()};
    command.insert(command.end(), more.begin(), more.end());
    return run_command(command);
}

}  // namespace

TEST_CASE("serve.bad_redis: --check names the Redis and what is wrong with it and what helps") {
    const Database db;
    for (const auto& trouble : troubled_redises()) {
        CAPTURE(trouble.code);
        const auto failed = check(db.uri(), *trouble.server);
        CHECK(failed.exit_code == 1);
        const auto line = failed.output.substr(failed.output.find("FAIL  redis: "));
        CHECK(line.find("Redis 127.0.0.1:" + std::to_string(trouble.server->port())) != std::string::npos);
        CHECK(line.find(trouble.code) != std::string::npos);
        CHECK(line.find(trouble.remedy) != std::string::npos);
        trouble.mend();
        CHECK(wait_until([&] { return check(db.uri(), *trouble.server).exit_code == 0; }));
        CHECK_FALSE(has(*trouble.server, "feed:d:try"));
    }
    const TempFolder folder;
    write_file(folder / "password", "wrong-one\n");
    const RedisServer closed({"--requirepass", "right-one"});
    const auto refused = check(db.uri(), closed, {"--cache.password_file", folder / "password"});
    CHECK(refused.exit_code == 1);
    CHECK(refused.output.find("user or password refused (WRONGPASS)") != std::string::npos);
    CHECK((refused.output + refused.errors).find("-one") == std::string::npos);
}

TEST_CASE(
    "serve.bad_redis: one that refuses the password is named in the log and files come from Postgres until it is "
    "right") {
    const TempFolder folder;
    write_file(folder / "password", "wrong-one\n");
    const ServeWorld world(std::nullopt, {"--cache.password_file", folder / "password"},
                           {"--requirepass", "right-one"});
    publish(world.uri(), "wc/calendar", "one", 5);
    CHECK(world.get(kFile).body == "one");
    REQUIRE(wait_until([&] { return logs(world, "serve.redis_away", "WRONGPASS"); }));
    CHECK(logs(world, "serve.redis_away", "127.0.0.1:" + std::to_string(world.redis.port())));
    CHECK(world.log().find("-one") == std::string::npos);
    world.redis.cli({"--no-auth-warning", "-a", "right-one", "CONFIG", "SET", "requirepass", "wrong-one"});
    REQUIRE(wait_until([&] { return logs(world, "serve.redis_back", ""); }));
    CHECK(wait_until([&] { return world.get(kFile).field("Age").empty(); }));
}

TEST_CASE("serve.bad_redis: a replica is read from and what it lacks comes from Postgres and the log says why") {
    const RedisServer master({"--repl-diskless-sync-delay", "0"});
    put(master, "wc/calendar", document("one", 5));
    const ServeWorld world(std::nullopt, {}, {"--replicaof", "127.0.0.1", std::to_string(master.port())});
    REQUIRE(wait_until([&] { return has(world.redis, "feed:d:wc/calendar"); }));
    publish(world.uri(), "wc/standings", "table", 6);
    for (int i = 0; i < 5; ++i) {
        CHECK(world.get(kFile).body == "one");
        CHECK(world.get("/feeds/wc/standings").body == "table");
    }
    REQUIRE(wait_until([&] { return logs(world, "serve.redis_takes_no_writes", "name the master"); }));
    CHECK_FALSE(has(world.redis, "feed:d:wc/standings"));
    world.redis.cli({"REPLICAOF", "NO", "ONE"});
    REQUIRE(wait_until(
        [&] { return world.get("/feeds/wc/standings").status == 200 && has(world.redis, "feed:d:wc/standings"); }));
    CHECK(wait_until([&] { return logs(world, "serve.redis_takes_writes", ""); }));
}

TEST_CASE("serve.bad_redis: while it reads its file the copies and Postgres answer and then it does") {
    ServeWorld world(std::nullopt, {},
                     {"--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024"});
    world.redis.cli({"EVAL", "for i = 1, 1000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end", "0"});
    put(world.redis, "wc/calendar", document("one", 5));
    publish(world.uri(), "wc/standings", "table", 6);
    CHECK(world.get(kFile).body == "one");
    world.redis.cli({"SAVE"});
    world.redis.kill();
    world.redis.start();
    REQUIRE(wait_until([&] { return world.redis.cli({"GET", "k1"}).find("LOADING") != std::string::npos; }));
    const auto copy = world.get(kFile);
    CHECK(copy.body == "one");
    CHECK_FALSE(copy.field("Age").empty());
    CHECK(world.get("/feeds/wc/standings").body == "table");
    CHECK(world.redis.cli({"CONFIG", "SET", "key-load-delay", "0"}) == "OK");
    REQUIRE(wait_until([&] { return world.get(kFile).field("Age").empty(); }, 20s));
    CHECK(world.get(kFile).body == "one");
}

TEST_CASE("serve.bad_redis: one that is not there at the start is no reason not to serve and is used when it comes") {
    ServeWorld world;
    publish(world.uri(), "wc/calendar", "one", 5);
    CHECK(world.server->terminate(10s).exit_code == 0);
    world.redis.kill();
    world.start();
    CHECK(world.get(kFile).body == "one");
    CHECK(world.get("/feeds/wc/standings").status == 404);
    REQUIRE(wait_until([&] { return logs(world, "serve.redis_away", std::to_string(world.redis.port())); }));
    world.redis.start();
    REQUIRE(wait_until([&] { return world.get(kFile).field("Age").empty() && has(world.redis, "feed:d:wc/calendar"); },
                       20s));
    CHECK(logs(world, "serve.redis_back", ""));
}

TEST_CASE("serve.bad_redis: a break that is mended at once is not worth a line") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    CHECK(world.get(kFile).status == 200);
    for (int i = 0; i < 5; ++i) {
        world.redis.cli({"CLIENT", "KILL", "TYPE", "normal"});
        REQUIRE(wait_until([&] { return world.get(kFile).field("Age").empty(); }));
    }
    CHECK_FALSE(logs(world, "serve.redis_away", ""));
}
