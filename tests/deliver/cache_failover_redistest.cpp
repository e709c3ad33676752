// What Redis is after a fail-over, of its own or of Postgres: a name that leads to another server, which may be behind
// (docs/cache.md). The name is a relay, the servers are real, and replication is their own.

#include "cache_world.hpp"
#include "support/cluster.hpp"
#include "support/relay.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

/// The world's Redis as master, a replica of it, and a name that leads to the master at first.
class ReplicatedWorld : public CacheWorld {
public:
    ReplicatedWorld()
        : replica({"--replicaof", "127.0.0.1", std::to_string(redis.port()), "--repl-diskless-sync-delay", "0"}),
          name(redis.port()) {
        // Without a pause before the first copy is sent.
        redis.cli({"CONFIG", "SET", "repl-diskless-sync-delay", "0"});
        REQUIRE(wait_until([&] { return follows(replica); }));
    }

    [[nodiscard]] static bool follows(const RedisServer& server) {
        return server.cli({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
    }
    [[nodiscard]] cache::ConnectionSettings by_name() const { return redis_settings(name.port()); }

    /// Publishes `one`, and waits until both servers have it and all totals.
    void begin(const RunningCache& running) const {
        publish_now("wc/calendar", "one");
        REQUIRE(wait_until([&] { return has_totals() && proofs() == 1 && running.status().is_whole; }));
        REQUIRE(wait_until([&] { return has_totals(replica) && has_file(replica, "wc/calendar", "one"); }));
    }
    /// From here on the replica is behind.
    void part() const { replica.cli({"REPLICAOF", "NO", "ONE"}); }
    void change_everything() const {
        publish_now("wc/calendar", "two");
        db.exec("UPDATE instrument_bump SET seq = seq + 1, total = total + 7");
    }
    [[nodiscard]] bool is_whole(const RedisServer& server) const {
        return has_totals(server) && has_file(server, "wc/calendar", "two");
    }
    /// As a sentinel does with a master that has come back: it follows the new one, and its clients are sent away.
    static void demote(const RedisServer& old_master, const RedisServer& new_master) {
        old_master.cli({"REPLICAOF", "127.0.0.1", std::to_string(new_master.port())});
        old_master.cli({"CLIENT", "KILL", "TYPE", "normal"});
    }

    RedisServer replica;
    Relay name;
};

std::string run_sql(const std::string& uri, const std::string& sql) {
    pqxx::connection connection(uri);
    pqxx::nontransaction tx(connection);
    const auto rows = tx.exec(sql);
    return rows.empty() || rows[0][0].is_null() ? "" : rows[0][0].as<std::string>();
}

/// A Postgres with a hot standby, and a name that leads to the primary at first.
struct ReplicatedPostgres {
    Cluster primary;
    std::string uri = primary.make_database("feeds");
    std::unique_ptr<Cluster> standby = primary.make_standby();
    std::string standby_uri = standby->uri("feeds");
    Relay name{port_of(uri)};

    ReplicatedPostgres() {
        store::Session session(settings_of(uri));
        static_cast<void>(store::check_epoch(session));
        deliver::register_cache(session);
        run_sql(uri,
                "INSERT INTO instrument (kind, provider, provider_id) VALUES ('team', 'p', 1); INSERT INTO "
                "instrument_bump (instrument_id, seq, total, epoch) SELECT i.id, 3, 10, e.epoch FROM instrument i, "
                "cluster_epoch e");
    }
    void publish(const std::string& body) const {
        const auto seq = std::stoll(run_sql(uri, "SELECT nextval('version_seq')"));
        const auto epoch = std::stoll(run_sql(uri, "SELECT epoch FROM cluster_epoch"));
        run_sql(uri, DeliverWorld::publish_sql("wc/calendar", body, seq, "clock_timestamp()", false, epoch));
        run_sql(uri, "NOTIFY ftl_document");
    }
    /// What is committed from here on never reaches the standby.
    void part() const {
        const auto written = run_sql(uri, "SELECT pg_current_wal_lsn()");
        REQUIRE(wait_until(
            [&] { return run_sql(standby_uri, "SELECT pg_last_wal_replay_lsn() >= '" + written + "'") == "t"; }));
        run_sql(standby_uri, "ALTER SYSTEM SET primary_conninfo = ''");
        run_sql(standby_uri, "SELECT pg_reload_conf()");
        REQUIRE(wait_until([&] { return run_sql(uri, "SELECT count(*) FROM pg_stat_replication") == "0"; }));
    }
    void fail_over() {
        primary.stop_immediately();
        standby->promote();
        name.lead_to(port_of(standby_uri));
    }
};

}  // namespace

TEST_CASE("deliver.failover: a replica that was behind and is promoted is brought up to date at once") {
    ReplicatedWorld world;
    const RunningCache running(world, world.by_name(), quick_settings(), kKeptOnLoss);
    world.begin(running);
    world.part();
    world.change_everything();
    REQUIRE(wait_until([&] { return world.is_whole(world.redis) && world.proofs() == 2; }));
    CHECK(CacheWorld::has_file(world.replica, "wc/calendar", "one"));
    // The master dies with what it had acknowledged, and the name leads to the one that never heard of it.
    world.redis.kill();
    world.name.lead_to(world.replica.port());
    CHECK(wait_until([&] { return world.is_whole(world.replica); }));
    // What Redis forgot is no reason to send anything again.
    CHECK(world.proofs() == 2);
    CHECK(world.count("alert WHERE kind = 'cache.ahead'") == 0);
}

TEST_CASE("deliver.failover: what an old master acknowledged while another was promoted is in the new one in the end") {
    ReplicatedWorld world;
    const RunningCache running(world, world.by_name(), quick_settings(), kKeptOnLoss);
    world.begin(running);
    // Split brain: two masters, and our connection is still to the old one, which takes everything.
    world.part();
    world.name.lead_to(world.replica.port());
    world.change_everything();
    REQUIRE(wait_until([&] { return world.is_whole(world.redis) && world.proofs() == 2; }));
    CHECK(CacheWorld::has_file(world.replica, "wc/calendar", "one"));
    // Its writes are thrown away when it finds the new one; ours are there again.
    ReplicatedWorld::demote(world.redis, world.replica);
    CHECK(wait_until([&] { return world.is_whole(world.replica); }));
    CHECK(wait_until([&] { return world.is_whole(world.redis); }));  // It follows.
    CHECK(world.proofs() == 2);
}

TEST_CASE(
    "deliver.failover: a master that was demoted takes nothing and says so and the name's next server gets it all") {
    ReplicatedWorld world;
    world.db.exec("UPDATE delivery_assignment SET first_retry_ms = 20, slow_retry_ms = 100 WHERE transport = 'cache'");
    const RunningCache running(world, world.by_name(), quick_settings(), kKeptOnLoss);
    world.begin(running);
    world.part();
    ReplicatedWorld::demote(world.redis, world.replica);
    REQUIRE(wait_until([&] { return ReplicatedWorld::follows(world.redis); }));
    // The name still leads to it.
    world.change_everything();
    REQUIRE(wait_until([&] { return running.status().trouble.find("READONLY") != std::string::npos; }));
    const std::string open =
        "alert WHERE kind = 'deliver.failing' AND subject = 'ftlfeed/cache' AND cleared_at IS NULL";
    REQUIRE(wait_until([&] { return world.count(open) == 1; }));
    CHECK(world.db.value("SELECT last_error LIKE '%READONLY%' FROM delivery_assignment WHERE transport = 'cache'") ==
          "t");
    CHECK(CacheWorld::has_file(world.redis, "wc/calendar", "one"));
    world.name.lead_to(world.replica.port());
    CHECK(wait_until([&] { return world.is_whole(world.replica) && world.is_whole(world.redis); }));
    CHECK(wait_until([&] { return world.count(open) == 0; }));
}

TEST_CASE("deliver.failover: a replica that never had a copy is not ready until everything is there") {
    ReplicatedWorld world;
    const RunningCache running(world, world.by_name(), quick_settings(), kKeptOnLoss);
    world.begin(running);
    world.part();
    world.replica.cli({"FLUSHALL"});
    world.change_everything();
    REQUIRE(wait_until([&] { return world.is_whole(world.redis); }));
    CHECK(world.replica.cli({"EXISTS", "bump:ready"}) == "0");
    world.redis.kill();
    world.name.lead_to(world.replica.port());
    CHECK(wait_until([&] { return world.is_whole(world.replica); }));
}

TEST_CASE(
    "deliver.failover: after a promotion that lost commits Redis has what the new Postgres says under a new epoch") {
    ReplicatedPostgres postgres;
    const RedisServer redis;
    const auto client = std::make_shared<cache::CacheClient>(CacheWorld::redis_settings(redis.port()));
    const auto connection = settings_of(with_port(postgres.uri, postgres.name.port()));
    const auto settings = quick_settings();
    const RunningDispatcher dispatcher(connection, settings,
                                       deliver::built_in_transports(settings, core::Clock::real(), client));
    deliver::CacheKeeper keeper(RunningCache::default_intervals(), connection, *client, core::Clock::real());
    const std::jthread thread([&](const std::stop_token& stop) { keeper.run(stop); });
    const auto holds = [&](const std::string& body, const std::string& total) {
        return CacheWorld::has_file(redis, "wc/calendar", body) && redis.cli({"HGET", "bump:1", "t"}) == total;
    };
    postgres.publish("kept");
    REQUIRE(wait_until([&] { return holds("kept", "10"); }));
    postgres.part();
    postgres.publish("lost");
    run_sql(postgres.uri, "UPDATE instrument_bump SET seq = seq + 1, total = 99");
    REQUIRE(wait_until([&] { return holds("lost", "99"); }));
    const auto before = redis.cli({"GET", "bump:ready"});

    postgres.fail_over();
    // Downwards: seq and total are lower than what Redis held, and stand above it by their epoch.
    CHECK(wait_until([&] { return holds("kept", "10"); }, 20s));
    CHECK(wait_until([&] { return redis.cli({"GET", "bump:ready"}) > before; }));
    // The epoch had moved before anybody looked at Redis, so nothing was found ahead.
    CHECK(run_sql(postgres.standby_uri, "SELECT count(*) FROM alert WHERE kind = 'cache.ahead'") == "0");
}
