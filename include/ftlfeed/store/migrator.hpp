#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::store {

struct Migration {
    std::int64_t version;
    std::string name;
    std::string up_sql;
    std::string down_sql;
};

/// The migrations compiled into the library, in order (the files of `migrations/`, golang-migrate's naming).
[[nodiscard]] const std::vector<Migration>& migrations();

/// Brings a database to the newest version; table and meaning are golang-migrate's (`schema_migrations(version,
/// dirty)`), so that its users can run the same files. Each migration is one transaction; an advisory lock keeps two
/// runners apart.
class Migrator {
public:
    explicit Migrator(Session& session) : session_(session) {}
    /// Returns the versions that were applied now. Throws Failure::permanent on a dirty or newer database.
    std::vector<std::int64_t> up();
    /// Undoes the newest `steps`. For people, never for CI or a binary.
    std::vector<std::int64_t> down(int steps);

    struct Status {
        std::int64_t current = 0;  ///< 0 = empty
        bool is_dirty = false;
        std::vector<std::int64_t> pending;
    };
    [[nodiscard]] Status status();

private:
    Session& session_;
};

}  // namespace ftlfeed::store
