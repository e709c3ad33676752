#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <ftlfeed/build/worker.hpp>
#include <ftlfeed/cache/connection_settings.hpp>
#include <ftlfeed/core/settings.hpp>
#include <ftlfeed/deliver/cache_keeper.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>

#include "common/cache_settings.hpp"

namespace ftlfeed::app {

/// The settings of ftl-deliver: sections build and deliver. docs/configuration.md has each of them.
struct FeedSettings {
    std::int64_t builders = 2;
    build::WorkerSettings build;
    deliver::DeliverSettings deliver;
    CacheSettings redis;  ///< No uri: no cache.
    deliver::CacheKeeperSettings cache;
    std::chrono::milliseconds housekeeping_interval{30'000};
    std::int64_t failed_kept_hours = 24 * 7;
    std::int64_t proven_kept_hours = 24 * 90;

    void bind(core::Settings& settings);
    /// Checks what concerns several settings. Throws core::InvalidInput.
    void validate() const;
    /// Our own Redis, when there is one. Throws core::InvalidInput.
    [[nodiscard]] std::optional<cache::ConnectionSettings> cache_connection() const;
};

}  // namespace ftlfeed::app
