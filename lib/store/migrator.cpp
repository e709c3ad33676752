#include <ftlfeed/store/migrator.hpp>

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

namespace ftlfeed::store {

namespace {

/// Any number that nobody else takes.
constexpr auto kTakeLock = "SELECT pg_advisory_xact_lock(7065202)";

/// golang-migrate's table: one row, or none before the first migration.
constexpr auto kMakeTable =
    "CREATE TABLE IF NOT EXISTS schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)";

Migrator::Status read_status(pqxx::transaction_base& tx) {
    Migrator::Status status;
    if (!tx.exec("SELECT to_regclass('schema_migrations') IS NOT NULL")[0][0].as<bool>()) {
        for (const auto& migration : migrations()) status.pending.push_back(migration.version);
        return status;
    }
    const auto rows = tx.exec("SELECT version, dirty FROM schema_migrations ORDER BY version DESC LIMIT 1");
    if (!rows.empty()) {
        status.current = rows[0][0].as<std::int64_t>();
        status.is_dirty = rows[0][1].as<bool>();
    }
    for (const auto& migration : migrations()) {
        if (migration.version > status.current) status.pending.push_back(migration.version);
    }
    return status;
}

void refuse_strange(const Migrator::Status& status) {
    const auto current = std::to_string(status.current);
    if (status.is_dirty) {
        throw core::Failure::permanent("the database is marked dirty at migration " + current +
                                       ": repair it by hand, then: UPDATE schema_migrations SET dirty = false");
    }
    const auto newest = migrations().empty() ? 0 : migrations().back().version;
    if (status.current > newest) {
        throw core::Failure::permanent("the database is at migration " + current + ", newer than this program knows (" +
                                       std::to_string(newest) + "): use a newer program");
    }
}

void set_version(pqxx::transaction_base& tx, std::int64_t version) {
    tx.exec("DELETE FROM schema_migrations");
    if (version > 0) tx.exec_params("INSERT INTO schema_migrations (version, dirty) VALUES ($1, false)", version);
}

/// One at a time, however many runners there are: each looks again under the lock.
Migrator::Status lock_and_look(pqxx::transaction_base& tx) {
    tx.exec(kTakeLock);
    tx.exec(kMakeTable);
    // Building an index may take longer than a statement of daily work.
    tx.exec("SET LOCAL statement_timeout = 0");
    auto status = read_status(tx);
    refuse_strange(status);
    return status;
}

const Migration& find_migration(std::int64_t version) {
    const auto found = std::find_if(migrations().begin(), migrations().end(),
                                    [&](const Migration& migration) { return migration.version == version; });
    if (found == migrations().end()) {
        throw core::Failure::permanent("migration " + std::to_string(version) + " is not one of this program's");
    }
    return *found;
}

}  // namespace

std::vector<std::int64_t> Migrator::up() {
    std::vector<std::int64_t> applied;
    bool is_done = false;
    while (!is_done) {
        std::int64_t version = 0;
        session_.write([&](pqxx::transaction_base& tx) {
            const auto status = lock_and_look(tx);
            if (status.pending.empty()) return;
            const auto& migration = find_migration(status.pending.front());
            try {
                execute_script(tx, migration.up_sql);
            } catch (const std::exception&) {
                core::log_error("store.migration_failed", {{"version", migration.version}, {"name", migration.name}});
                throw;
            }
            set_version(tx, migration.version);
            version = migration.version;
        });
        is_done = version == 0;
        if (!is_done) applied.push_back(version);
    }
    return applied;
}

std::vector<std::int64_t> Migrator::down(int steps) {
    std::vector<std::int64_t> undone;
    for (int step = 0; step < steps; ++step) {
        std::int64_t version = 0;
        session_.write([&](pqxx::transaction_base& tx) {
            version = lock_and_look(tx).current;
            if (version == 0) return;
            const auto& migration = find_migration(version);
            execute_script(tx, migration.down_sql);
            const auto* before = &migration == &migrations().front() ? nullptr : &migration - 1;
            set_version(tx, before == nullptr ? 0 : before->version);
        });
        if (version == 0) break;
        undone.push_back(version);
    }
    return undone;
}

Migrator::Status Migrator::status() {
    Status status;
    session_.read([&](pqxx::transaction_base& tx) { status = read_status(tx); });
    return status;
}

}  // namespace ftlfeed::store
