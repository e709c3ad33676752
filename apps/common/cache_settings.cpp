#include "common/cache_settings.hpp"

namespace ftlfeed::app {

void CacheSettings::bind(core::Settings& settings) {
    settings.bind("cache.uri", uri, "Our own Redis: redis://HOST:PORT/DATABASE, rediss:// for TLS");
    settings.bind("cache.password_file", password_file, "File with its password; beats the URI's");
}

cache::ConnectionSettings CacheSettings::connection(const std::string& program) const {
    auto settings = cache::ConnectionSettings::parse(uri, password_file);
    settings.name = program;
    return settings;
}

}  // namespace ftlfeed::app
