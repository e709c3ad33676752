#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <ftlfeed/cache/connection_settings.hpp>
#include <ftlfeed/core/settings.hpp>

#include "common/cache_settings.hpp"

namespace ftlfeed::app {

/// The settings of ftl-serve: sections cache and serve. docs/configuration.md has each of them.
struct ServeSettings {
    CacheSettings redis{"redis://127.0.0.1:6379/0", ""};
    std::string address = "127.0.0.1:8080";
    std::string port_file;
    std::int64_t threads = 1;
    std::int64_t connections_max = 20'000;
    std::int64_t head_bytes_max = 8192;
    std::chrono::milliseconds head_timeout{10'000};
    std::chrono::milliseconds idle_timeout{75'000};
    std::chrono::milliseconds write_timeout{30'000};
    std::int64_t bytes_per_second_min = 16 * 1024;
    std::int64_t memory_bytes_max = std::int64_t{256} << 20U;
    std::chrono::milliseconds check_timeout{50};
    std::chrono::milliseconds fetch_timeout{1000};
    std::int64_t postgres_sessions = 4;
    std::chrono::milliseconds postgres_wait{2000};
    std::chrono::milliseconds hold{1000};
    std::chrono::milliseconds keys_poll{500};
    std::chrono::milliseconds grace{60'000};

    cache::ConnectionSettings cache;  ///< Made by complete().

    void bind(core::Settings& settings);
    /// Section serve alone, for who has section cache from elsewhere.
    void bind_serve(core::Settings& settings);
    /// Reads the password file and checks what concerns several settings. Throws core::InvalidInput.
    void complete();
};

}  // namespace ftlfeed::app
