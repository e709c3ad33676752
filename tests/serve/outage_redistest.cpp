// Redis lost, hung, flushed and set back; Postgres away; keys revoked: what clients are answered meanwhile.

#include <atomic>
#include <csignal>
#include <thread>

#include "support/cluster.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

const std::string kFile = "/feeds/wc/calendar";
using Clock = std::chrono::steady_clock;

void revoke(const ServeWorld& world) {
    world.exec("UPDATE client_key SET revoked_at = now(), revoked_by = 'test', reason = 'test'");
}

/// Pulls without a pause on one connection until the key is refused; returns how long that took.
Clock::duration time_until_refused(const ServeWorld& world) {
    auto socket = world.connect();
    REQUIRE(pull(socket, kFile, kKeyField).status == 200);
    revoke(world);
    const auto begin = Clock::now();
    while (pull(socket, kFile, kKeyField).status != 401) REQUIRE(Clock::now() - begin < 10s);
    const auto taken = Clock::now() - begin;
    CHECK(world.get(kFile).status == 401);
    return taken;
}

/// A Postgres that can be stopped, with a client in it.
struct StoppablePostgres {
    Cluster cluster;
    std::string uri = cluster.make_database("serve");
};

}  // namespace

TEST_CASE("serve.revoke: a revoked key is refused within a second on an open connection") {
    const ServeWorld world({"--serve.keys_poll_ms", "800"});
    put(world.redis, "wc/calendar", document("one", 5));
    CHECK(time_until_refused(world) < 1s);
}

TEST_CASE("serve.revoke: a revoked key is refused within a second though nobody notifies") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    world.exec("ALTER TABLE client_key DISABLE TRIGGER client_key_changed");
    CHECK(time_until_refused(world) < 1s);
}

TEST_CASE("serve.revoke: without Postgres the keys hold for the grace and then nobody comes in") {
    const StoppablePostgres postgres;
    const ServeWorld world(postgres.uri, {"--serve.grace_ms", "2000", "--serve.keys_poll_ms", "100"});
    put(world.redis, "wc/calendar", document("one", 5));
    auto socket = world.connect();
    CHECK(pull(socket, kFile, kKeyField).status == 200);
    const_cast<Cluster&>(postgres.cluster).stop_immediately();
    CHECK(pull(socket, kFile, kKeyField).status == 200);
    REQUIRE(wait_until([&] { return pull(socket, kFile, kKeyField).status == 503; }));
    CHECK(pull(socket, kFile, "Authorization: Bearer k2\r\n").status == 503);
    CHECK(pull(socket, kFile, kKeyField).field("Retry-After") == "1");
    CHECK(world.ops("/readyz").starts_with("HTTP/1.1 503"));
    const_cast<Cluster&>(postgres.cluster).start();
    REQUIRE(wait_until([&] { return pull(socket, kFile, kKeyField).status == 200; }));
}

TEST_CASE("serve.outage: without Redis the copy is served with its age and Redis is asked again when it is back") {
    ServeWorld world;
    publish(world.uri(), "wc/calendar", "one", 5);
    CHECK(world.get(kFile).field("Age").empty());
    world.redis.kill();
    const auto answer = world.get(kFile);
    CHECK(answer.status == 200);
    CHECK(answer.body == "one");
    CHECK_FALSE(answer.field("Age").empty());
    const auto same = world.get(kFile, "If-None-Match: \"1000-5-1\"\r\n");
    CHECK(same.status == 304);
    CHECK_FALSE(same.field("Age").empty());
    world.redis.start();
    REQUIRE(wait_until([&] { return world.get(kFile).field("Age").empty(); }, 20s));
    put(world.redis, "wc/calendar", document("two", 6));
    REQUIRE(wait_until([&] { return world.get(kFile).body == "two"; }));
}

TEST_CASE("serve.outage: while Redis is away a newer version comes from Postgres behind the answers") {
    ServeWorld world({"--serve.hold_ms", "100"});
    publish(world.uri(), "wc/calendar", "one", 5);
    CHECK(world.get(kFile).body == "one");
    world.redis.kill();
    publish(world.uri(), "wc/calendar", "two", 6);
    REQUIRE(wait_until([&] { return world.get(kFile).body == "two"; }));
    // A file that nobody had asked for before.
    publish(world.uri(), "wc/standings", "table", 7);
    CHECK(world.get("/feeds/wc/standings").body == "table");
    CHECK(world.get("/feeds/wc/scorers").status == 404);
}

TEST_CASE("serve.outage: a Redis that hangs delays an answer by its limit and no more") {
    ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto socket = world.connect();
    CHECK(pull(socket, kFile, kKeyField).body == "one");
    world.redis.stop();
    const auto begin = Clock::now();
    const auto answer = pull(socket, kFile, kKeyField);
    CHECK(Clock::now() - begin < 1s);
    CHECK(answer.body == "one");
    CHECK_FALSE(answer.field("Age").empty());
    for (int i = 0; i < 50; ++i) CHECK(pull(socket, kFile, kKeyField).status == 200);
    CHECK(Clock::now() - begin < 5s);
    world.redis.go_on();
    REQUIRE(wait_until([&] { return pull(socket, kFile, kKeyField).field("Age").empty(); }, 20s));
}

TEST_CASE("serve.outage: without Redis and Postgres the copies are served and what nobody has is 503") {
    const StoppablePostgres postgres;
    ServeWorld world(postgres.uri, {});
    publish(world.uri(), "wc/calendar", "one", 5);
    publish(world.uri(), "wc/standings", "table", 6);
    CHECK(world.get(kFile).body == "one");
    const_cast<Cluster&>(postgres.cluster).stop_immediately();
    world.redis.kill();
    CHECK(world.get(kFile).body == "one");
    const auto begin = Clock::now();
    const auto answer = world.get("/feeds/wc/standings");
    CHECK(answer.status == 503);
    CHECK(answer.field("Retry-After") == "1");
    CHECK(Clock::now() - begin < 4s);
    const_cast<Cluster&>(postgres.cluster).start();
    REQUIRE(wait_until([&] { return world.get("/feeds/wc/standings").body == "table"; }, 20s));
}

TEST_CASE("serve.outage: a Postgres that hangs costs an answer its limit and the next one has another session") {
    const ServeWorld world({"--serve.postgres_sessions", "1"});
    publish(world.uri(), "wc/calendar", "one", 5);
    CHECK(world.get(kFile).body == "one");
    publish(world.uri(), "wc/standings", "table", 6);
    pqxx::connection connection(world.uri());
    pqxx::nontransaction tx(connection);
    const auto pid = tx.exec1(
                           "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND "
                           "application_name = 'ftl-serve/files'")[0]
                         .as<pid_t>();
    REQUIRE(kill(pid, SIGSTOP) == 0);
    const auto begin = Clock::now();
    const auto answer = world.get("/feeds/wc/standings");
    CHECK(Clock::now() - begin < 4s);
    CHECK(answer.status == 503);
    CHECK(answer.field("Retry-After") == "1");
    // What is there is served meanwhile, and the stopped one is not waited for again.
    CHECK(world.get(kFile).body == "one");
    CHECK(wait_until([&] { return world.get("/feeds/wc/standings").body == "table"; }));
    kill(pid, SIGCONT);
}

TEST_CASE("serve.outage: what comes from a promoted Postgres has the new epoch before Redis gets it") {
    const ServeWorld world;
    publish(world.uri(), "wc/calendar", "one", 5);
    // Another timeline, as far as the record can tell: the reader's session is the first that comes to it.
    world.exec("UPDATE cluster_epoch SET timeline = timeline + 1");
    const auto answer = world.get(kFile);
    CHECK(answer.body == "one");
    pqxx::connection connection(world.uri());
    pqxx::nontransaction tx(connection);
    const auto epoch = tx.exec1("SELECT epoch FROM cluster_epoch")[0].as<std::int64_t>();
    CHECK(epoch > 1000);
    CHECK(answer.field("ETag") == "\"" + std::to_string(epoch) + "-5-1\"");
    CHECK(wait_until([&] {
        return world.redis.cli({"HGET", "feed:d:wc/calendar", "v"}) == core::Version{epoch, 5, 1}.text();
    }));
}

TEST_CASE("serve.outage: after a flush each file is read from Postgres once and is in Redis again") {
    const ServeWorld world;
    for (const auto* file : {"wc/calendar", "wc/standings", "wc/scorers"}) {
        publish(world.uri(), file, file, 5);
        CHECK(world.get("/feeds/"s + file).body == file);
    }
    REQUIRE(wait_until([&] { return world.redis.cli({"DBSIZE"}) == "3"; }));
    world.redis.cli({"FLUSHALL"});
    publish(world.uri(), "wc/calendar", "newer than what was flushed", 6);
    REQUIRE(wait_until([&] { return world.get(kFile).body == "newer than what was flushed"; }));
    // What Postgres said a moment ago answers for that long; then each is read once more.
    REQUIRE(wait_until([&] {
        CHECK(world.get("/feeds/wc/standings").body == "wc/standings");
        CHECK(world.get("/feeds/wc/scorers").body == "wc/scorers");
        return world.redis.cli({"DBSIZE"}) == "3";
    }));
    CHECK(world.metric("ftl_serve_postgres_reads_total") == 6);
}

TEST_CASE("serve.outage: a copy newer than Redis is served and pushed back") {
    const ServeWorld world;
    const auto newest = document("new", 9);
    put(world.redis, "wc/calendar", newest);
    CHECK(world.get(kFile).body == "new");
    // As after a fail-over to a replica that lagged.
    world.redis.cli({"DEL", "feed:d:wc/calendar"});
    put(world.redis, "wc/calendar", document("old", 8));
    for (int i = 0; i < 5; ++i) CHECK(world.get(kFile).body == "new");
    REQUIRE(wait_until([&] { return world.redis.cli({"HGET", "feed:d:wc/calendar", "v"}) == newest.version.text(); }));
    CHECK(world.get(kFile).body == "new");
}

TEST_CASE("serve.outage: an entry that is none of ours is read from Postgres and made anew") {
    const ServeWorld world;
    publish(world.uri(), "wc/calendar", "one", 5);
    world.redis.cli({"HSET", "feed:d:wc/calendar", "v", "7", "gz", "x"});
    CHECK(world.get(kFile).body == "one");
    REQUIRE(wait_until([&] {
        return world.redis.cli({"HGET", "feed:d:wc/calendar", "v"}) == core::Version{1000, 5, 1}.text();
    }));
    // The version is right and the rest is lost.
    world.redis.cli({"HDEL", "feed:d:wc/calendar", "gz"});
    publish(world.uri(), "wc/standings", "table", 6);
    world.redis.cli({"HSET", "feed:d:wc/standings", "v", core::Version{1000, 6, 1}.text()});
    CHECK(world.get("/feeds/wc/standings").body == "table");
}

TEST_CASE("serve.outage: a Redis that is full takes nothing and clients are served all the same") {
    const ServeWorld world;
    publish(world.uri(), "wc/calendar", "one", 5);
    world.redis.cli({"CONFIG", "SET", "maxmemory", "1"});
    for (int i = 0; i < 20; ++i) CHECK(world.get(kFile).body == "one");
    // One read answers for a while, though Redis did not take what was read.
    CHECK(world.metric("ftl_serve_postgres_reads_total") <= 5);
    CHECK(world.metric("ftl_serve_keep_failures_total") >= 1);
    world.redis.cli({"CONFIG", "SET", "maxmemory", "0"});
    REQUIRE(wait_until([&] {
        return world.get(kFile).status == 200 && world.redis.cli({"EXISTS", "feed:d:wc/calendar"}) == "1";
    }));
}

TEST_CASE("serve.outage: a crowd at an empty cache is one read of Postgres for each file") {
    const ServeWorld world;
    const std::vector<std::string> files{"wc/calendar", "wc/standings", "wc/scorers"};
    for (const auto& file : files) publish(world.uri(), file, file, 5);
    constexpr int kClients = 300;
    std::vector<TcpSocket> clients;
    for (int i = 0; i < kClients; ++i) clients.push_back(world.connect());
    // All at once: each has sent all but the last byte.
    const auto request = [&](int i) {
        return "GET /feeds/" + files[static_cast<std::size_t>(i) % files.size()] + " HTTP/1.1\r\nHost: a\r\n" +
               kKeyField + "\r";
    };
    for (int i = 0; i < kClients; ++i) clients[static_cast<std::size_t>(i)].send(request(i));
    for (auto& client : clients) client.send("\n");
    for (int i = 0; i < kClients; ++i) {
        CHECK(read_answer(clients[static_cast<std::size_t>(i)]).body ==
              files[static_cast<std::size_t>(i) % files.size()]);
    }
    CHECK(world.metric("ftl_serve_postgres_reads_total") == 3);
    // As Postgres itself counts it.
    const auto scans = [&] {
        pqxx::connection connection(world.uri());
        pqxx::nontransaction tx(connection);
        return tx.exec1("SELECT seq_scan + idx_scan FROM pg_stat_user_tables WHERE relname = 'feed_document'")[0]
            .as<int>();
    };
    const int writes = 3;  // Each looks for a conflict by the index.
    REQUIRE(wait_until([&] { return scans() >= 3; }));
    CHECK(scans() <= 3 + writes);
}

TEST_CASE("serve.outage: no such file is remembered for a moment and is there once it is in Redis") {
    const ServeWorld world;
    for (int i = 0; i < 20; ++i) CHECK(world.get(kFile).status == 404);
    CHECK(world.metric("ftl_serve_postgres_reads_total") <= 4);
    put(world.redis, "wc/calendar", document("born", 5));
    CHECK(world.get(kFile).body == "born");
}
