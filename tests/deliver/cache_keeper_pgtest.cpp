// Our own cache: the built-in destination, and the comparison that guarantees what Redis holds (design 9).
#include <atomic>

#include "cache_world.hpp"
#include "support/handler_server.hpp"

using namespace ftl::test;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;

namespace {

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

TEST_CASE("deliver.cache: a total that moves is there soon") {
    const CacheWorld world;
    const RunningCache running(world);
    REQUIRE(wait_until([&] { return world.has_totals(); }));
    world.db.exec(
        "UPDATE instrument_bump SET seq = 4, total = -7 WHERE instrument_id = (SELECT min(id) FROM instrument)");
    CHECK(wait_until([&] { return world.has_totals(); }));
}

TEST_CASE("deliver.cache: totals are taken only after all of them are there") {
    const CacheWorld world;
    // Somebody else's key stands where one total has to go: whoever took totals now would take that one for none.
    const auto stolen = "bump:" + world.db.value("SELECT max(id) FROM instrument");
    world.redis.cli({"SET", stolen, "mine"});
    const RunningCache running(world);
    const auto is_refused = [&] { return running.status().trouble.find("WRONGTYPE") != std::string::npos; };
    REQUIRE(wait_until([&] { return is_refused() && world.redis.cli({"DBSIZE"}) == std::to_string(kInstruments); }));
    CHECK(world.redis.cli({"EXISTS", "bump:ready"}) == "0");
    world.redis.cli({"DEL", stolen});
    CHECK(wait_until([&] { return world.has_totals(); }));
}

TEST_CASE("deliver.cache: of a new epoch the mark is written after the last total") {
    const CacheWorld world;
    const RunningCache running(world);
    REQUIRE(wait_until([&] { return world.has_totals(); }));
    const auto log = world.temp / "monitor";
    const Process monitor({"redis-cli", "-p", std::to_string(world.redis.port()), "MONITOR"}, {.log = log});
    REQUIRE(wait_until([&] { return content(log).starts_with("OK"); }));
    store::Session session(world.connection());
    static_cast<void>(store::force_epoch(session));
    const auto mark = "\"bump:ready\" \"" + world.epoch_text() + '"';
    REQUIRE(wait_until([&] { return content(log).find(mark) != std::string::npos; }));
    const auto said = content(log);
    const auto last_total = said.rfind('"' + world.epoch_text() + ':');
    REQUIRE(last_total != std::string::npos);
    CHECK(last_total < said.find(mark));
    CHECK(world.has_totals());
}

TEST_CASE("deliver.cache: after a flush everything is whole again as soon as it is noticed") {
    const CacheWorld world;
    const RunningCache running(world, quick_settings(), kKeptOnLoss);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 1; }));
    world.redis.cli({"FLUSHALL"});
    // It is noticed by the next comparison of totals, after a second at most; by itself the file's would come after minutes.
    CHECK(wait_until([&] { return world.has_totals() && !world.hash("feed:d:wc/calendar", "gz").empty(); }));
    // The proof stands as it was: the destination was not sent to again.
    CHECK(world.proofs() == 1);
}

TEST_CASE("deliver.cache: everything is compared at once when bump:ready or a total is found missing or older") {
    const CacheWorld world;
    const RunningCache running(world, quick_settings(), kKeptOnLoss);
    const auto total = "bump:" + world.db.value("SELECT min(id) FROM instrument");
    const auto older = core::Version{std::stoll(world.epoch), 2, 0}.text();
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 1 && running.status().is_whole; }));
    for (const auto& loss : std::vector<std::vector<std::string>>{
             {"DEL", "bump:ready"}, {"DEL", total}, {"HSET", total, "v", older, "t", "1"}}) {
        CAPTURE(loss.front());
        // The file is lost too, and nothing but the total or the mark tells of it.
        world.redis.cli({"DEL", "feed:d:wc/calendar"});
        world.redis.cli(loss);
        CHECK(
            wait_until([&] { return world.has_totals() && CacheWorld::has_file(world.redis, "wc/calendar", "one"); }));
    }
}

TEST_CASE("deliver.cache: a Redis that was killed and came back empty is filled again") {
    CacheWorld world;
    const RunningCache running(world, quick_settings(), kKeptOnLoss);
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

TEST_CASE("deliver.cache: a file newer than ours raises an alarm and moves the epoch on and ours is published") {
    const CacheWorld world;
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 1; }));
    const auto lost = core::Version{std::stoll(world.epoch), 999'999, 1};
    world.redis.cli({"HSET", "feed:d:wc/calendar", "v", lost.text(), "sha", "of a version that Postgres lost"});
    REQUIRE(wait_until([&] { return world.db.value("SELECT epoch FROM cluster_epoch") != world.epoch; }));
    CHECK(world.count("alert WHERE kind = 'cache.ahead'") == 1);
    CHECK(wait_until([&] { return CacheWorld::has_file(world.redis, "wc/calendar", "one"); }));
    CHECK(world.hash("feed:d:wc/calendar", "v") > lost.text());
    CHECK(wait_until([&] { return world.count("alert WHERE kind = 'cache.ahead' AND cleared_at IS NULL") == 0; }));
}

TEST_CASE("deliver.cache: a later epoch than ours is outrun") {
    const CacheWorld world;
    const RunningCache running(world);
    REQUIRE(wait_until([&] { return world.has_totals(); }));
    const auto id = world.db.value("SELECT min(id) FROM instrument");
    // The clock of the Postgres before this one was an hour ahead.
    const auto later = std::stoll(world.epoch) + 3600;
    world.redis.cli({"HSET", "bump:" + id, "v", core::Version{later, 1, 0}.text(), "t", "999"});
    REQUIRE(wait_until([&] { return std::stoll(world.db.value("SELECT epoch FROM cluster_epoch")) > later; }));
    CHECK(wait_until([&] { return world.has_totals(); }));
    CHECK(wait_until([&] { return world.count("alert WHERE kind = 'cache.ahead' AND cleared_at IS NULL") == 0; }));
}

TEST_CASE("deliver.cache: a key that nobody can outrun stays an alarm and holds no other up") {
    const CacheWorld world;
    const RunningCache running(world);
    world.publish_now("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.has_totals() && world.proofs() == 1; }));
    const auto last = core::Version{9'999'999'998, 1, 0}.text();
    const auto stolen = "bump:" + world.db.value("SELECT min(id) FROM instrument");
    world.redis.cli({"HSET", stolen, "v", last, "t", "999"});
    REQUIRE(wait_until([&] { return world.count("alert WHERE kind = 'cache.ahead'") == 1; }));
    // The epochs that are left are not spent on it.
    CHECK(world.db.value("SELECT epoch < 3000000000 FROM cluster_epoch") == "t");
    const auto other = world.db.value("SELECT max(id) FROM instrument");
    world.db.exec("UPDATE instrument_bump SET seq = seq + 1, total = -7 WHERE instrument_id = " + other);
    world.redis.cli({"DEL", "feed:d:wc/calendar"});
    CHECK(wait_until([&] { return world.hash("bump:" + other, "t") == "-7"; }));
    CHECK(wait_until([&] { return CacheWorld::has_file(world.redis, "wc/calendar", "one"); }));
    CHECK(world.hash(stolen, "v") == last);
    CHECK(world.count("alert WHERE kind = 'cache.ahead' AND cleared_at IS NULL") == 1);
    CHECK_FALSE(running.status().is_whole);
    // Whoever put it there takes it away.
    world.redis.cli({"DEL", stolen});
    CHECK(wait_until([&] { return world.has_totals() && running.status().is_whole; }));
}

TEST_CASE("deliver.cache: a full Redis raises an alert that ends when there is room again") {
    const CacheWorld world;
    world.db.exec("UPDATE delivery_assignment SET first_retry_ms = 20, slow_retry_ms = 100 WHERE transport = 'cache'");
    const RunningCache running(world);
    REQUIRE(wait_until([&] { return world.has_totals(); }));
    world.redis.cli({"CONFIG", "SET", "maxmemory", "1"});
    world.publish_now("wc/calendar", "one");
    const std::string open =
        "alert WHERE kind = 'deliver.failing' AND subject = 'ftlfeed/cache' AND cleared_at IS NULL";
    REQUIRE(wait_until([&] { return world.count(open) == 1; }));
    CHECK(world.db.value("SELECT last_error LIKE '%OOM%' FROM delivery_assignment WHERE transport = 'cache'") == "t");
    world.redis.cli({"CONFIG", "SET", "maxmemory", "0"});
    CHECK(wait_until([&] { return CacheWorld::has_file(world.redis, "wc/calendar", "one"); }));
    CHECK(wait_until([&] { return world.count(open) == 0; }));
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
    HandlerServer listener([](ServerSide& side) { side.reset(); });
    const std::vector<std::string> hosts{"localhost", "LOCALHOST",        "127.0.0.1",     "2130706433",
                                         "127.1",     "0x7f000001",       "017700000001",  "0.0.0.0",
                                         "::1",       "::ffff:127.0.0.1", "::ffff:7f00:1", "10.0.0.1"};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        world.db.exec(
            "INSERT INTO delivery_assignment (client_id, name, transport, host, port, first_retry_ms, slow_retry_ms) "
            "SELECT id, 'r" +
            std::to_string(i) + "', 'redis', '" + hosts[i] + "', " + std::to_string(listener.port()) +
            ", 20, 100 FROM delivery_client WHERE code = 'acme'");
    }
    auto settings = quick_settings();
    settings.allowed_hosts = {"*", "localhost"};  // The name, not the loopback address that it leads to.
    world.publish_now("wc/calendar", "one");
    {
        const RunningDispatcher dispatcher(world, settings);
        REQUIRE(wait_until(
            [&] {
                return world.count("delivery_assignment WHERE last_error IS NOT NULL") ==
                       static_cast<std::int64_t>(hosts.size());
            },
            20s));
    }
    CHECK(listener.connections() == 0);
    CHECK(world.count("delivery_assignment WHERE transport = 'redis' AND (NOT refusal_lasts OR last_error NOT LIKE "
                      "'%outside the fence%')") == 0);
    CHECK(world.proofs() == 0);
    // Named by its block it is reached, in other spellings too.
    settings.allowed_hosts = {"127.0.0.0/8"};
    world.db.exec("UPDATE delivery_assignment SET next_try = NULL");
    const RunningDispatcher dispatcher(world, settings);
    CHECK(wait_until([&] { return listener.connections() >= 4; }));
}
