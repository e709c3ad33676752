#include <ftlfeed/cache/cache_client.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include <ftlfeed/core/hash.hpp>

#include "support/redis.hpp"
#include "support/relay.hpp"
#include "support/rng.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::CacheClient;
using cache::ConnectionSettings;
using cache::Entry;
using cache::Fields;
using cache::Key;
using cache::PutOutcome;
using cache::Refused;
using cache::Stored;
using core::Version;

namespace {

ConnectionSettings to_port(std::uint16_t port) {
    auto settings = ConnectionSettings::parse("redis://127.0.0.1:" + std::to_string(port));
    settings.backoff_max = std::chrono::milliseconds(100);
    return settings;
}

Key some_key() { return Key("test:" + unique_word()); }

Entry total(int instrument, std::int64_t seq, std::int64_t value) {
    return {Key::bump(instrument), {1, seq, 0}, {{"t", std::to_string(value)}}};
}

}  // namespace

TEST_CASE("cache.cache_client: a missing entry and an older one are replaced and an equal or newer one is not") {
    CacheClient client(to_port(shared_redis_port()));
    const auto key = some_key();
    CHECK_FALSE(client.version(key));
    CHECK(client.put_if_newer(key, {1, 5, 0}, {{"t", "50"}}) == PutOutcome(Stored{}));
    CHECK(client.put_if_newer(key, {1, 5, 0}, {{"t", "51"}}) == PutOutcome(Refused{{1, 5, 0}}));
    CHECK(client.put_if_newer(key, {1, 4, 9}, {{"t", "40"}}) == PutOutcome(Refused{{1, 5, 0}}));
    CHECK(client.put_if_newer(key, {1, 5, 1}, {{"t", "52"}}) == PutOutcome(Stored{}));
    CHECK(client.put_if_newer(key, {2, 1, 0}, {{"t", "60"}}) == PutOutcome(Stored{}));
    CHECK(client.put_if_newer(key, {1, 99, 99}, {{"t", "1"}}) == PutOutcome(Refused{{2, 1, 0}}));
    CHECK(client.fetch(key) == Entry{key, {2, 1, 0}, {{"t", "60"}}});
    CHECK(client.version(key) == Version{2, 1, 0});
}

TEST_CASE("cache.cache_client: versions beyond what a double can hold are told apart") {
    CacheClient client(to_port(shared_redis_port()));
    const auto key = some_key();
    const std::int64_t big = 9'007'199'254'740'992;  // 2^53: one more is the same number to Lua.
    CHECK(client.put_if_newer(key, {1, big, 0}, {{"t", "1"}}) == PutOutcome(Stored{}));
    CHECK(client.put_if_newer(key, {1, big + 1, 0}, {{"t", "2"}}) == PutOutcome(Stored{}));
    CHECK(client.put_if_newer(key, {1, big, 0}, {{"t", "3"}}) == PutOutcome(Refused{{1, big + 1, 0}}));
    CHECK(client.put_if_newer(key, {9'999'999'999, INT64_MAX, 9'999'999'999}, {{"t", "4"}}) == PutOutcome(Stored{}));
}

TEST_CASE("cache.cache_client: of puts in any order and any number the newest version stays") {
    FTL_RNG(rng);
    CacheClient client(to_port(shared_redis_port()));
    for (int round = 0; round < 20; ++round) {
        const auto key = some_key();
        Version newest;
        for (int i = 0; i < 30; ++i) {
            const Version version{rng.between(1, 3), rng.between(1, 5), rng.between(0, 2)};
            const auto outcome = client.put_if_newer(key, version, {{"is", version.text()}});
            CHECK((outcome == PutOutcome(Stored{})) == (version > newest));
            newest = std::max(newest, version);
        }
        CHECK(client.fetch(key) == Entry{key, newest, {{"is", newest.text()}}});
    }
}

TEST_CASE("cache.cache_client: a retirement replaces a body and leaves no field of it behind") {
    CacheClient client(to_port(shared_redis_port()));
    const auto key = some_key();
    const std::string body = "{}";
    cache::Document document{{1, 1, 0}, core::gzip(body), "application/json", {}, 2, core::sha256_hex(body), false};
    auto with_extra = document.fields();
    with_extra["extra"] = "of an older program";
    CHECK(client.put_if_newer(key, document.version, with_extra) == PutOutcome(Stored{}));
    document.version.seq = 2;
    document.is_retired = true;
    document.body_gz.clear();
    CHECK(client.put_if_newer(key, document.version, document.fields()) == PutOutcome(Stored{}));
    const auto found = client.fetch(key);
    REQUIRE(found);
    CHECK(found->fields == document.fields());
    CHECK(cache::Document::from(found->version, found->fields) == document);
}

TEST_CASE("cache.cache_client: a refusal of a body costs no body") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    const auto key = some_key();
    const Fields fields{{"gz", std::string(2'000'000, 'x')}};
    const auto bytes_in = [&] {
        const auto info = redis.cli({"INFO", "stats"});
        return std::stoll(info.substr(info.find("total_net_input_bytes:") + 22));
    };
    CHECK(client.put_if_newer(key, {1, 2, 0}, fields) == PutOutcome(Stored{}));
    const auto before = bytes_in();
    for (int i = 0; i < 10; ++i) CHECK(client.put_if_newer(key, {1, 1, 0}, fields) == PutOutcome(Refused{{1, 2, 0}}));
    CHECK(bytes_in() - before < 5'000);
}

TEST_CASE("cache.cache_client: bytes of any kind come back as they went") {
    CacheClient client(to_port(shared_redis_port()));
    const auto key = some_key();
    std::string bytes(100'000, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 256);
    const Fields fields{{"gz", bytes}, {"empty", ""}};
    CHECK(client.put_if_newer(key, {1, 1, 0}, fields) == PutOutcome(Stored{}));
    CHECK(client.fetch(key)->fields == fields);
}

TEST_CASE("cache.cache_client: many totals go in one pipeline and their outcomes are in their order") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    std::vector<Entry> entries;
    for (int i = 0; i < 5'000; ++i) entries.push_back(total(i, 10 + i % 3, i));
    const auto first = client.put_all_if_newer(entries);
    CHECK(std::count(first.begin(), first.end(), PutOutcome(Stored{})) == 5'000);
    for (auto& entry : entries) entry.version.seq = 11;
    const auto second = client.put_all_if_newer(entries);
    for (int i = 0; i < 5'000; ++i) {
        const auto held = 10 + i % 3;
        const auto wanted = held < 11 ? PutOutcome(Stored{}) : PutOutcome(Refused{{1, held, 0}});
        REQUIRE(second[static_cast<std::size_t>(i)] == wanted);
    }
    CHECK(redis.cli({"HGET", "bump:4999", "t"}) == "4999");
    CHECK(client.put_all_if_newer({}).empty());
}

TEST_CASE("cache.cache_client: many versions are read in one pipeline and a missing one is nothing") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    std::vector<Key> keys;
    std::vector<Entry> entries;
    for (int i = 0; i < 5'000; ++i) {
        keys.push_back(Key::bump(i));
        if (i % 7 != 0) entries.push_back(total(i, i, i));
    }
    static_cast<void>(client.put_all_if_newer(entries));
    const auto found = client.versions(keys);
    REQUIRE(found.size() == keys.size());
    for (int i = 0; i < 5'000; ++i) {
        const auto wanted = i % 7 == 0 ? std::nullopt : std::optional(Version{1, i, 0});
        REQUIRE(found[static_cast<std::size_t>(i)] == wanted);
    }
    CHECK(client.versions({}).empty());
}

TEST_CASE("cache.cache_client: an entry whose version is none counts as missing and is replaced") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    for (const std::string text : {"zzz", "9", "9999999999:short:0", "xxxxxxxxxx:xxxxxxxxxxxxxxxxxxxx:xxxxxxxxxx"}) {
        CAPTURE(text);
        const auto key = some_key();
        redis.cli({"HSET", key.text(), "v", text, "t", "1"});
        CHECK_FALSE(client.version(key));
        CHECK_FALSE(client.fetch(key));
        CHECK(client.put_if_newer(key, {1, 1, 0}, {{"t", "2"}}) == PutOutcome(Stored{}));
        CHECK(client.version(key) == Version{1, 1, 0});
    }
}

TEST_CASE("cache.cache_client: an entry of another type is a permanent failure and stays as it is") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    redis.cli({"SET", "mine", "text"});
    try {
        static_cast<void>(client.put_if_newer(Key("mine"), {1, 1, 0}, {{"t", "2"}}));
        FAIL("was stored");
    } catch (const core::Failure& failure) {
        CHECK(failure.kind() == core::Failure::Kind::kPermanent);
        CHECK(failure.native_code() == "WRONGTYPE");
    }
    CHECK(redis.cli({"GET", "mine"}) == "text");
}

TEST_CASE("cache.cache_client: a script that the server has forgotten is sent again") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    const auto key = some_key();
    CHECK(client.put_if_newer(key, {1, 1, 0}, {{"t", "1"}}) == PutOutcome(Stored{}));
    redis.cli({"SCRIPT", "FLUSH"});
    CHECK(client.put_if_newer(key, {1, 2, 0}, {{"t", "2"}}) == PutOutcome(Stored{}));
    redis.cli({"SCRIPT", "FLUSH"});
    std::vector<Entry> entries;
    for (int i = 0; i < 100; ++i) entries.push_back(total(i, 1, i));
    const auto outcomes = client.put_all_if_newer(entries);
    CHECK(std::count(outcomes.begin(), outcomes.end(), PutOutcome(Stored{})) == 100);
    redis.cli({"SCRIPT", "FLUSH"});
    CHECK(client.set_ready_epoch(3) == 3);
}

TEST_CASE("cache.cache_client: the ready epoch is missing at first and never goes back") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    CHECK_FALSE(client.ready_epoch());
    CHECK(client.set_ready_epoch(1'780'000'000) == 1'780'000'000);
    CHECK(client.set_ready_epoch(9) == 1'780'000'000);
    CHECK(client.ready_epoch() == 1'780'000'000);
    CHECK(client.set_ready_epoch(1'780'000'001) == 1'780'000'001);
    redis.cli({"FLUSHALL"});
    CHECK_FALSE(client.ready_epoch());
    redis.cli({"SET", "bump:ready", "rubbish"});
    CHECK_FALSE(client.ready_epoch());
    CHECK(client.set_ready_epoch(5) == 5);
}

TEST_CASE("E23: a put whose answer is lost is in doubt and doing it again ends at the same in both outcomes") {
    RedisServer redis;
    Relay relay(redis.port());
    CacheClient client(to_port(relay.port()));
    client.ping();
    for (const auto cut : {Relay::Cut::kBefore, Relay::Cut::kAfter}) {
        const auto key = some_key();
        relay.cut_at(key.text(), cut);
        try {
            static_cast<void>(client.put_if_newer(key, {1, 1, 0}, {{"t", "7"}}));
            FAIL("was answered");
        } catch (const core::Failure& failure) {
            CHECK(failure.in_doubt());
        }
        relay.cut_nowhere();
        REQUIRE(wait_until([&] { return client.server().is_connected; }));
        const auto again = client.put_if_newer(key, {1, 1, 0}, {{"t", "7"}});
        CHECK(again == (cut == Relay::Cut::kBefore ? PutOutcome(Stored{}) : PutOutcome(Refused{{1, 1, 0}})));
        CHECK(redis.cli({"HGET", key.text(), "t"}) == "7");
    }
}

TEST_CASE("cache.cache_client: a flush and a restart show in the entries and in the run id") {
    RedisServer redis;
    CacheClient client(to_port(redis.port()));
    client.ping();
    const auto key = some_key();
    CHECK(client.put_if_newer(key, {1, 1, 0}, {{"t", "1"}}) == PutOutcome(Stored{}));
    const auto before = client.server();
    CHECK(before.is_connected);
    CHECK(before.trouble.empty());
    redis.kill();
    REQUIRE(wait_until([&] { return !client.server().is_connected; }));
    CHECK_FALSE(client.server().trouble.empty());
    redis.start();
    REQUIRE(wait_until([&] { return client.server().is_connected; }));
    CHECK(client.server().run_id != before.run_id);
    CHECK(client.server().connections == before.connections + 1);
    CHECK_FALSE(client.version(key));
    CHECK(client.put_if_newer(key, {1, 1, 0}, {{"t", "1"}}) == PutOutcome(Stored{}));
}

TEST_CASE("cache.cache_client: a Redis that is not there is an unavailable failure and comes when it comes") {
    RedisServer redis;
    redis.kill();
    CacheClient client(to_port(redis.port()));
    CHECK_THROWS_AS(client.ping(), core::Failure);
    redis.start();
    REQUIRE(wait_until([&] { return client.server().is_connected; }));
    CHECK_NOTHROW(client.ping());
}

TEST_CASE("cache.cache_client: a Redis that hangs holds a caller no longer than the limit") {
    RedisServer redis;
    auto settings = to_port(redis.port());
    settings.request_timeout = std::chrono::milliseconds(100);
    CacheClient client(settings);
    client.ping();
    redis.stop();
    const auto begin = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(client.ping(), core::Failure);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    redis.go_on();
}
