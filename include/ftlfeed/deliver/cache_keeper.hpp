#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// How often the cache is compared with the record.
struct CacheKeeperSettings {
    std::chrono::milliseconds totals_interval{1000};
    std::chrono::milliseconds documents_interval{10'000};
    std::chrono::milliseconds retry_first{100};  ///< After Postgres or Redis was away, with full jitter.
    std::chrono::milliseconds retry_max{1000};
};
/// Binds `cache.totals_interval_ms` and `cache.documents_interval_ms`.
void bind_settings(core::Settings& settings, CacheKeeperSettings& target);

/// Makes the row of the built-in destination `ftlfeed/cache` when it is missing. Safe to repeat; one that a person has
/// switched off stays off.
void register_cache(store::Session& session);

/// The guarantee that our Redis holds what the record says: not an acknowledgement but a comparison. Totals every second,
/// documents every ten, and everything at once after a reconnect, a changed run id, or a total or `bump:ready` found
/// missing or older. What is older or missing is pushed again; what is newer than ours raises `cache.ahead` and moves the
/// epoch on. `bump:ready` is written after the first complete comparison of all totals. docs/cache.md has the keys.
/// Works while this process owns the built-in destination, and waits otherwise.
/// Threads: run() is confined to one; status() is thread-safe.
class CacheKeeper {
public:
    CacheKeeper(CacheKeeperSettings settings, store::ConnectionSettings connection, cache::CacheClient& cache,
                core::Clock& clock);
    ~CacheKeeper();
    CacheKeeper(const CacheKeeper&) = delete;
    CacheKeeper& operator=(const CacheKeeper&) = delete;

    /// Returns when stop is asked. Postgres or Redis away is waited out.
    void run(const std::stop_token& stop);

    struct Status {
        bool is_ours = false;   ///< This process keeps the cache.
        bool is_whole = false;  ///< Its last comparison found nothing that it could not push.
        std::string trouble;    ///< Why not, for /readyz.
    };
    [[nodiscard]] Status status() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::deliver
