#pragma once

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

    [[nodiscard]] cache::ConnectionSettings redis_settings() const {
        auto settings = cache::ConnectionSettings::parse(redis.uri());
        settings.backoff_max = milliseconds(100);
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
    static deliver::CacheKeeperSettings default_intervals() {
        return {milliseconds(100), milliseconds(1000), milliseconds(20), milliseconds(100)};
    }
    explicit RunningCache(const CacheWorld& world, deliver::DeliverSettings settings = quick_settings(),
                          deliver::CacheKeeperSettings keeper_settings = default_intervals())
        : client(std::make_shared<cache::CacheClient>(world.redis_settings())),
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
