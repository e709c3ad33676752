#pragma once

#include <string>

#include <ftlfeed/store/session.hpp>

#include "support/pg.hpp"

namespace ftl::test {

/// The product's own limits, unless a test sets others. `application` is what pg_stat_activity shows.
[[nodiscard]] inline ftlfeed::store::ConnectionSettings settings_of(
    const std::string& uri, const std::string& application = ftlfeed::store::ConnectionSettings().application) {
    ftlfeed::store::ConnectionSettings settings;
    settings.uri = uri;
    settings.application = application;
    return settings;
}

[[nodiscard]] inline ftlfeed::store::ConnectionSettings settings_of(
    const Database& db, const std::string& application = ftlfeed::store::ConnectionSettings().application) {
    return settings_of(db.uri(), application);
}

/// A session of the product, where Database::connect() is a bare connection.
[[nodiscard]] inline ftlfeed::store::Session connect(const std::string& uri) {
    return ftlfeed::store::Session(settings_of(uri));
}

[[nodiscard]] inline ftlfeed::store::Session connect(const Database& db) { return connect(db.uri()); }

}  // namespace ftl::test
