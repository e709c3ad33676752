// Our own cache: the built-in destination, and the comparison that guarantees what Redis holds (design 9).
#include <ftlfeed/deliver/cache_keeper.hpp>
#include <ftlfeed/store/epoch.hpp>

#include <atomic>

#include "support/redis.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
namespace cache = ftlfeed::cache;
namespace core = ftlfeed::core;
namespace store = ftlfeed::store;

namespace {

constexpr int kInstruments = 300;

/// A record with totals and documents, a Redis, and ftl-deliver's parts that keep the one like the other.
class CacheWorld : public DeliverWorld {
public:
    CacheWorld() {
        store::Session session(connection());
        static_cast<void>(store::check_epoch(session));
        epoch = session_value("SELECT epoch FROM cluster_epoch");
        register_cache(session);
        db.exec("INSERT INTO instrument (kind, provider, provider_id) SELECT 'team', 'p', n FROM generate_series(1, " +
                std::to_string(kInstruments) +
                ") n; INSERT INTO instrument_bump (instrument_id, seq, total, epoch) SELECT id, 3, provider_id * 10, " +
                epoch + " FROM instrument");
    }

    [[nodiscard]] cache::ConnectionSettings redis_settings() const {
        auto settings = cache::ConnectionSettings::parse(redis.uri());
        settings.backoff_max = 100ms;
        return settings;
    }
    [[nodiscard]] std::string session_value(const std::string& sql) const { return db.value(sql); }
    [[nodiscard]] std::string hash(const std::string& key, const std::string& field) const {
        return redis.cli({"HGET", key, field});
    }
    /// Document and history under the epoch of the cluster.
    void publish_now(const std::string& doc_key, const std::string& body) const {
        publish(doc_key, body);
        db.exec("UPDATE feed_document SET epoch = " + epoch + ", txid = pg_current_xact_id(); NOTIFY ftl_document");
    }
    /// Every total and the mark of readiness.
    [[nodiscard]] bool has_totals() const {
        return redis.cli({"GET", "bump:ready"}) == epoch_text() && redis.cli({"EVAL", kSum, "0"}) == sum();
    }
    [[nodiscard]] std::string epoch_text() const {
        return std::string(10 - session_value("SELECT epoch FROM cluster_epoch").size(), '0') +
               session_value("SELECT epoch FROM cluster_epoch");
    }
    [[nodiscard]] std::string sum() const {
        return session_value("SELECT count(*) || ' ' || sum(total) FROM instrument_bump");
    }

    RedisServer redis;
    std::string epoch;

private:
    static constexpr const char* kSum =
        "local n, s = 0, 0 for _, k in ipairs(redis.call('KEYS', 'bump:*')) do if k ~= 'bump:ready' then n = n + 1 "
        "s = s + tonumber(redis.call('HGET', k, 't')) end end return n .. ' ' .. string.format('%d', s)";
};

/// Dispatcher, client and keeper, as ftl-deliver has them.
class RunningCache {
public:
    explicit RunningCache(const CacheWorld& world, DeliverSettings settings = quick_settings(),
                          CacheKeeperSettings keeper_settings = {100ms, 1000ms, 20ms, 100ms})
        : client(std::make_shared<cache::CacheClient>(world.redis_settings())),
          dispatcher_(world, settings, built_in_transports(settings, core::Clock::real(), client)),
          keeper_(keeper_settings, world.connection(), *client, core::Clock::real()),
          thread_([this](const std::stop_token& stop) { keeper_.run(stop); }) {}

    [[nodiscard]] CacheKeeper::Status status() const { return keeper_.status(); }

    std::shared_ptr<cache::CacheClient> client;

private:
    RunningDispatcher dispatcher_;
    CacheKeeper keeper_;
    std::jthread thread_;
};

/// Real time, and how often somebody slept.
class CountingClock final : public core::Clock {
public:
    [[nodiscard]] core::SteadyTime steady_now() const override { return real().steady_now(); }
    [[nodiscard]] core::SystemTime system_now() const override { return real().system_now(); }
    bool sleep_until(core::SteadyTime time, const std::stop_token& stop) override {
        ++sleeps;
        return real().sleep_until(time, stop);
    }
    std::atomic<int> sleeps{0};
};

DeliverSettings disabled() {
    auto settings = quick_settings();
    settings.is_enabled = false;
    return settings;
}

}  // namespace

TEST_CASE("deliver.cache: a published version lies in our Redis with its proof though nothing may leave the house") {
    const CacheWorld world;
    world.add_destination("main");
    const RunningCache running(world, disabled());
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    const auto entry = running.client->fetch(cache::Key("feed:d:wc/calendar"));
    REQUIRE(entry);
    const auto document = cache::Document::from(entry->version, entry->fields);
    REQUIRE(document);
    CHECK(core::gunzip(document->body_gz, 100) == "one");
    CHECK(document->content_type == "application/json");
    CHECK(document->body_bytes == 3);
    CHECK(document->body_sha256 == core::sha256_hex("one"));
    CHECK(world.db.value("SELECT receipt FROM delivery_state") == "v=" + document->version.text());
    // A client's destination is neither claimed nor sent to.
    CHECK(world.count("delivery_owner") == 1);
    CHECK_FALSE(std::filesystem::exists(world.folder("main") / "wc"));
}

TEST_CASE("deliver.cache: a retired file stays as gone and no older version takes its place") {
    const CacheWorld world;
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    world.retire("wc/calendar");
    world.db.exec("UPDATE feed_document SET epoch = " + world.epoch + ", txid = pg_current_xact_id()");
    REQUIRE(wait_until([&] { return world.hash("feed:d:wc/calendar", "gone") == "1"; }));
    CHECK(world.hash("feed:d:wc/calendar", "gz").empty());
}

TEST_CASE("deliver.cache: totals are taken only after all of them are there") {
    const CacheWorld world;
    const RunningCache running(world);
    REQUIRE(wait_until([&] { return world.has_totals(); }));
    // bump:ready came last: whoever saw it before all totals would have read a missing one as none.
    world.db.exec(
        "UPDATE instrument_bump SET seq = 4, total = -7 WHERE instrument_id = (SELECT min(id) FROM instrument)");
    CHECK(wait_until([&] { return world.has_totals(); }));
}

TEST_CASE("deliver.cache: after a flush everything is whole again within two seconds of being noticed") {
    const CacheWorld world;
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 1; }));
    world.redis.cli({"FLUSHALL"});
    CHECK(wait_until([&] { return world.has_totals() && !world.hash("feed:d:wc/calendar", "gz").empty(); }));
    // The proof stands as it was: the destination was not sent to again.
    CHECK(world.proofs() == 1);
}

TEST_CASE("deliver.cache: a Redis that was killed and came back empty is filled again") {
    CacheWorld world;
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 1; }));
    world.redis.kill();
    CHECK(wait_until([&] { return !running.status().trouble.empty(); }));
    world.redis.start();
    CHECK(wait_until([&] { return world.has_totals() && !world.hash("feed:d:wc/calendar", "gz").empty(); }));
    CHECK(wait_until([&] { return running.status().is_whole; }));
}

TEST_CASE("deliver.cache: an older Redis that was restored is brought up to date and a lost key comes back") {
    const CacheWorld world;
    const RunningCache running(world);
    world.publish_now("wc/calendar", "old");
    world.publish_now("wc/standings", "s");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 2; }));
    const auto old = running.client->fetch(cache::Key("feed:d:wc/calendar"));
    world.publish_now("wc/calendar", "new");
    REQUIRE(wait_until([&] { return world.proofs() == 3; }));
    // As a backup has it: an older version of one file, another file missing.
    REQUIRE(old);
    world.redis.cli({"DEL", "feed:d:wc/calendar", "feed:d:wc/standings"});
    static_cast<void>(running.client->put_if_newer(old->key, old->version, old->fields));
    const auto newest =
        world.db.value("SELECT encode(body_hash, 'hex') FROM feed_document WHERE doc_key = 'wc/calendar'");
    CHECK(wait_until([&] { return world.hash("feed:d:wc/calendar", "sha") == newest; }));
    CHECK(wait_until([&] { return !world.hash("feed:d:wc/standings", "gz").empty(); }));
}

TEST_CASE("deliver.cache: a total newer than ours raises an alarm and moves the epoch on and ours is published") {
    const CacheWorld world;
    const RunningCache running(world);
    REQUIRE(wait_until([&] { return world.has_totals(); }));
    const auto id = world.db.value("SELECT min(id) FROM instrument");
    // Postgres lost its last commits: Redis has seen seq 9.
    world.redis.cli({"HSET", "bump:" + id, "v", core::Version{std::stoll(world.epoch), 9, 0}.text(), "t", "999"});
    REQUIRE(wait_until([&] { return world.db.value("SELECT epoch FROM cluster_epoch") != world.epoch; }));
    CHECK(world.count("alert WHERE kind = 'cache.ahead'") == 1);
    CHECK(wait_until([&] { return world.hash("bump:" + id, "t") == "10"; }));
    CHECK(wait_until([&] { return world.has_totals(); }));
    CHECK(wait_until([&] { return world.count("alert WHERE kind = 'cache.ahead' AND cleared_at IS NULL") == 0; }));
}

TEST_CASE("deliver.cache: who does not own the built-in destination writes nothing and keeps nobody busy") {
    const CacheWorld world;
    cache::CacheClient client(world.redis_settings());
    CountingClock clock;
    const auto begin = clock.steady_now();
    CacheKeeper keeper({50ms, 50ms, 20ms, 100ms}, world.connection(), client, clock);
    std::jthread thread([&](const std::stop_token& stop) { keeper.run(stop); });
    world.publish_now("wc/calendar", "one");
    // It waits for its turn and asks no more often than it would compare.
    REQUIRE(wait_until([&] { return clock.sleeps >= 4; }));
    CHECK(clock.steady_now() - begin >= 3 * 50ms);
    CHECK(world.redis.cli({"DBSIZE"}) == "0");
    const RunningCache owner(world);
    CHECK(wait_until([&] { return world.has_totals(); }));
}

TEST_CASE("deliver.redis: a client's Redis gets its files under its prefix with proof and E31 never an older one") {
    const CacheWorld world;
    world.db.exec(
        "INSERT INTO delivery_assignment (client_id, name, transport, host, port, database_number, folder, "
        "first_retry_ms, slow_retry_ms) SELECT id, 'redis', 'redis', '127.0.0.1', " +
        std::to_string(world.redis.port()) + ", 3, 'acme:', 20, 100 FROM delivery_client WHERE code = 'acme'");
    auto settings = quick_settings();
    settings.allowed_hosts = {"127.0.0.1"};
    const RunningDispatcher dispatcher(world, settings);
    world.publish_now("wc/calendar", "one");
    const auto field = [&](const std::string& name) {
        return world.redis.cli({"-n", "3", "HGET", "acme:wc/calendar", name});
    };
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    CHECK(field("sha") == core::sha256_hex("one"));
    // Something newer than ours lies there: ours is refused and somebody is told.
    world.redis.cli({"-n", "3", "HSET", "acme:wc/calendar", "v", core::Version{9'999'999'999, 1, 1}.text()});
    world.publish_now("wc/calendar", "two");
    CHECK(wait_until([&] { return world.count("alert WHERE kind = 'deliver.file_refused'") == 1; }));
    CHECK(field("sha") == core::sha256_hex("one"));
}

TEST_CASE("deliver.redis: the fence is asked with the resolved address and a closed one sees no connection") {
    const CacheWorld world;
    world.db.exec(
        "INSERT INTO delivery_assignment (client_id, name, transport, host, port, first_retry_ms, slow_retry_ms) "
        "SELECT id, 'redis', 'redis', 'localhost', " +
        std::to_string(world.redis.port()) + ", 20, 100 FROM delivery_client WHERE code = 'acme'");
    auto settings = quick_settings();
    settings.allowed_hosts = {"localhost"};  // The name, not the loopback address that it leads to.
    const auto before = world.redis.cli({"INFO", "stats"});
    const RunningDispatcher dispatcher(world, settings);
    world.publish_now("wc/calendar", "one");
    CHECK(wait_until([&] { return world.count("delivery_attempt WHERE outcome = 'failed'") > 0; }));
    CHECK(world.proofs() == 0);
    CHECK(world.redis.cli({"EXISTS", "feed:d:wc/calendar"}) == "0");
}
