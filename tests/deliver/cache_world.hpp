#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ftlfeed/deliver/cache_keeper.hpp>
#include <ftlfeed/store/epoch.hpp>

#include "support/redis.hpp"
#include "world.hpp"

namespace ftl::test {

namespace cache = ftlfeed::cache;
namespace core = ftlfeed::core;
namespace deliver = ftlfeed::deliver;
namespace store = ftlfeed::store;

inline constexpr int kInstruments = 300;

/// A record with totals and documents, a Redis, and ftl-deliver's parts that keep the one like the other.
class CacheWorld : public DeliverWorld {
public:
    explicit CacheWorld(std::vector<std::string> redis_options = {}) : redis(std::move(redis_options)) {
        store::Session session(connection());
        static_cast<void>(store::check_epoch(session));
        epoch = session_value("SELECT epoch FROM cluster_epoch");
        deliver::register_cache(session);
        db.exec("INSERT INTO instrument (kind, provider, provider_id) SELECT 'team', 'p', n FROM generate_series(1, " +
                std::to_string(kInstruments) +
                ") n; INSERT INTO instrument_bump (instrument_id, seq, total, epoch) SELECT id, 3, provider_id * 10, " +
                epoch + " FROM instrument");
    }

    /// To our Redis, or to the name that leads to it.
    [[nodiscard]] cache::ConnectionSettings redis_settings() const { return redis_settings(redis.port()); }
    [[nodiscard]] static cache::ConnectionSettings redis_settings(std::uint16_t port) {
        auto settings = cache::ConnectionSettings::parse("redis://127.0.0.1:" + std::to_string(port));
        settings.backoff_max = milliseconds(100);
        return settings;
    }
    [[nodiscard]] std::string session_value(const std::string& sql) const { return db.value(sql); }
    [[nodiscard]] std::string hash(const std::string& key, const std::string& field) const {
        return redis.cli({"HGET", key, field});
    }
    /// Document and history under the epoch of the cluster.
    void publish_now(const std::string& doc_key, const std::string& body) const {
        const auto seq = std::stoll(session_value("SELECT nextval('version_seq')"));
        const auto now_epoch = std::stoll(session_value("SELECT epoch FROM cluster_epoch"));
        db.exec(publish_sql(doc_key, body, seq, "clock_timestamp()", false, now_epoch) + "; NOTIFY ftl_document");
    }
    /// Whether this server holds the file with this body.
    [[nodiscard]] static bool has_file(const RedisServer& server, const std::string& doc_key, const std::string& body) {
        return server.cli({"HGET", "feed:d:" + doc_key, "sha"}) == core::sha256_hex(body);
    }
    /// Every total and the mark of readiness.
    [[nodiscard]] bool has_totals() const { return has_totals(redis); }
    [[nodiscard]] bool has_totals(const RedisServer& server) const {
        return server.cli({"GET", "bump:ready"}) == epoch_text() && server.cli({"EVAL", kSum, "0"}) == sum();
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

/// Totals as in production, and files only when something tells that they may be lost.
constexpr deliver::CacheKeeperSettings kKeptOnLoss{milliseconds(1000), milliseconds(600'000), milliseconds(20),
                                                   milliseconds(100)};

/// Dispatcher, client and keeper, as ftl-deliver has them.
class RunningCache {
public:
    static deliver::CacheKeeperSettings default_intervals() {
        return {milliseconds(100), milliseconds(1000), milliseconds(20), milliseconds(100)};
    }
    explicit RunningCache(const CacheWorld& world, deliver::DeliverSettings settings = quick_settings(),
                          deliver::CacheKeeperSettings keeper_settings = default_intervals())
        : RunningCache(world, world.redis_settings(), settings, keeper_settings) {}
    RunningCache(const CacheWorld& world, const cache::ConnectionSettings& redis,
                 const deliver::DeliverSettings& settings = quick_settings(),
                 deliver::CacheKeeperSettings keeper_settings = default_intervals())
        : client(std::make_shared<cache::CacheClient>(redis)),
          dispatcher_(world, settings, deliver::built_in_transports(settings, core::Clock::real(), client)),
          keeper_(keeper_settings, world.connection(), *client, core::Clock::real()),
          thread_([this](const std::stop_token& stop) { keeper_.run(stop); }) {}

    [[nodiscard]] deliver::CacheKeeper::Status status() const { return keeper_.status(); }

    std::shared_ptr<cache::CacheClient> client;

private:
    RunningDispatcher dispatcher_;
    deliver::CacheKeeper keeper_;
    std::jthread thread_;
};

}  // namespace ftl::test
