#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/migrator.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <thread>

#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed;
using core::Failure;
using ftl::test::Content;
using ftl::test::Database;

namespace {

/// Every object of the schema as text, for comparison.
std::string schema_of(const Database& db) {
    return db.value(
        "SELECT string_agg(t || ' ' || n, E'\\n' ORDER BY t, n) FROM ("
        "SELECT relkind::text AS t, relname::text AS n FROM pg_class WHERE relnamespace = 'public'::regnamespace "
        "UNION ALL SELECT 'function', proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace) s "
        "WHERE n NOT LIKE 'schema_migrations%'");
}

}  // namespace

TEST_CASE("store.migrator: what is compiled in are the files in their order") {
    const auto& all = store::migrations();
    REQUIRE_FALSE(all.empty());
    std::int64_t before = 0;
    for (const auto& migration : all) {
        CHECK(migration.version == before + 1);
        before = migration.version;
        const auto number =
            std::string(6 - std::to_string(migration.version).size(), '0') + std::to_string(migration.version);
        const auto stem = (ftl::test::source_dir() / "migrations" / (number + "_" + migration.name)).string();
        CHECK(ftl::test::read_file(stem + ".up.sql") == migration.up_sql);
        CHECK(ftl::test::read_file(stem + ".down.sql") == migration.down_sql);
    }
}

TEST_CASE("store.migrator: an empty database is brought to the newest version and a second run does nothing") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    store::Migrator migrator(session);
    const auto before = migrator.status();
    CHECK(before.current == 0);
    CHECK(before.pending.size() == store::migrations().size());
    CHECK(migrator.up() == before.pending);
    CHECK(migrator.status().current == store::migrations().back().version);
    CHECK(migrator.status().pending.empty());
    CHECK(migrator.up().empty());
    // As golang-migrate leaves it.
    CHECK(db.value("SELECT string_agg(version || ' ' || dirty, ',') FROM schema_migrations") ==
          std::to_string(store::migrations().back().version) + " false");
}

TEST_CASE("store.migrator: the down files undo all and up makes the same again") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    store::Migrator migrator(session);
    migrator.up();
    const auto schema = schema_of(db);
    CHECK(schema.find("outbox") != std::string::npos);
    CHECK(migrator.down(1) == std::vector<std::int64_t>{store::migrations().back().version});
    CHECK(migrator.down(1000).size() == store::migrations().size() - 1);
    CHECK(schema_of(db) == "NULL");
    CHECK(migrator.status().current == 0);
    migrator.up();
    CHECK(schema_of(db) == schema);
}

TEST_CASE("store.migrator: running every migration twice changes nothing for they are additive") {
    const Database db(Content::kMigrated);
    const auto schema = schema_of(db);
    auto session = connect(db);
    for (const auto& migration : store::migrations()) {
        session.write([&](pqxx::transaction_base& tx) { store::execute_script(tx, migration.up_sql); });
    }
    CHECK(schema_of(db) == schema);
}

TEST_CASE("store.migrator: two runners at once apply each migration once") {
    const Database db(Content::kNothing);
    std::vector<std::int64_t> a;
    std::vector<std::int64_t> b;
    const auto run = [&](std::vector<std::int64_t>& applied) {
        auto session = connect(db);
        applied = store::Migrator(session).up();
    };
    {
        const std::jthread one([&] { run(a); });
        const std::jthread two([&] { run(b); });
    }
    CHECK(a.size() + b.size() == store::migrations().size());
}

TEST_CASE("store.migrator: one that fails leaves nothing of itself and the database clean") {
    const Database db(Content::kNothing);
    db.exec("CREATE VIEW outbox_cursor AS SELECT 1 AS consumer");  // In the way of the second migration.
    auto session = connect(db);
    store::Migrator migrator(session);
    db.exec("CREATE FUNCTION ftl_touch(kind text, id text, event text) RETURNS int LANGUAGE sql AS 'SELECT 1'");
    CHECK_THROWS_AS(static_cast<void>(migrator.up()), Failure);
    CHECK(migrator.status().current == 1);
    CHECK_FALSE(migrator.status().is_dirty);
    CHECK(db.value("SELECT to_regclass('outbox')") == "NULL");
}

TEST_CASE("store.migrator: a dirty or newer database is refused with the remedy") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    store::Migrator migrator(session);
    migrator.up();
    const auto refusal = [&] {
        try {
            static_cast<void>(migrator.up());
        } catch (const Failure& failure) {
            CHECK(failure.kind() == Failure::Kind::kPermanent);
            return std::string(failure.what());
        }
        return std::string();
    };
    db.exec("UPDATE schema_migrations SET dirty = true");
    CHECK(refusal().find("marked dirty") != std::string::npos);
    db.exec("UPDATE schema_migrations SET dirty = false, version = 999999");
    CHECK(refusal().find("newer than this program knows") != std::string::npos);
    CHECK_THROWS_AS(static_cast<void>(migrator.down(1)), Failure);
}
