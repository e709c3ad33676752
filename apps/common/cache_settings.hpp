#pragma once

#include <string>

#include <ftlfeed/cache/connection_settings.hpp>
#include <ftlfeed/core/settings.hpp>

namespace ftlfeed::app {

/// How a service reaches our own Redis: `cache.uri` and `cache.password_file`.
struct CacheSettings {
    std::string uri;
    std::string password_file;

    void bind(core::Settings& settings);
    /// `program` is shown in CLIENT LIST. Throws core::InvalidInput.
    [[nodiscard]] cache::ConnectionSettings connection(const std::string& program) const;
};

}  // namespace ftlfeed::app
