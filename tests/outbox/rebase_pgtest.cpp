// A dump restored into another cluster, and what brings it back.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <pqxx/transaction>
#include <string>
#include <thread>

#include "history.hpp"
#include "outbox/sql.hpp"
#include "readers.hpp"
#include "support/cluster.hpp"
#include "support/pg.hpp"
#include "support/rng.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
namespace store = ftlfeed::store;
using ftlfeed::core::Failure;

namespace {

void make_event(const std::string& uri) {
    run_sql(uri,
            "INSERT INTO event (code, name, provider, provider_season_id)"
            " VALUES ('wc2026', 'World Cup', 'sportmonks', 1)");
}

void make_document(const std::string& uri, const std::string& doc_key, bool is_retired = false) {
    run_sql(uri, fmt::format("INSERT INTO feed_document (doc_key, event, feed_type, body_gz, body_bytes, content_type,"
                             " content_hash, body_hash, changed_at, last_modified, epoch, seq, retired_at)"
                             " VALUES ('{}', 'wc2026', 'live', '', 0, 'application/json', '', '', now(), now(), 1,"
                             " nextval('version_seq'), {})",
                             doc_key, is_retired ? "now()" : "NULL"));
}

/// Rows that the reader delivers in one go, as `kind:id`.
std::string read_records(store::Session& session, const std::string& consumer) {
    product::Reader reader(session, consumer);
    std::string records;
    const auto note = [&](pqxx::transaction_base&, std::span<const product::OutboxRow> rows) {
        for (const auto& row : rows) records += row.record.kind + ":" + row.record.id + " ";
    };
    while (reader.read_page(note) > 0) {
    }
    return records;
}

/// Two clusters: the first one's database is dumped and restored into the second, whose xids are lower.
struct Restored {
    Restored() {
        old_uri = old_cluster.make_database("feeds");
        // A longer life than the new one's: each block with a handler that writes takes a transaction id.
        run_sql(old_uri,
                "DO $$ BEGIN CREATE TEMP TABLE used (n int); FOR n IN 1..3000 LOOP"
                " BEGIN INSERT INTO used VALUES (n); EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END $$");
        make_event(old_uri);
        make_document(old_uri, "wc2026/calendar");
        make_document(old_uri, "wc2026/timeline/7");
        make_document(old_uri, "wc2026/timeline/8", true);
        auto session = connect(old_uri);
        product::register_consumer(session, "build");
        (void)read_records(session, "build");  // The epoch is stored at the first connect.
        run_sql(old_uri,
                "INSERT INTO feed_dirty (doc_key, first_touch, last_touch, claim_xmin, claimed_by, failures)"
                " VALUES ('wc2026/standings', now(), now(), '1000', 'a builder of the old cluster', 3)");
        commit_each(old_uri, {"unread1", "unread2"});
    }

    std::string restore() {
        const auto dump = (old_cluster.data().parent_path() / "run/dump.sql").string();
        old_cluster.run_tool("pg_dump", {"-d", old_uri, "--no-owner", "--no-privileges", "-f", dump});
        run_sql(new_cluster.uri(), "CREATE DATABASE feeds TEMPLATE template0");
        new_cluster.run_tool("psql", {"-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", new_cluster.uri("feeds"), "-f", dump});
        return new_cluster.uri("feeds");
    }

    Cluster old_cluster;
    Cluster new_cluster;
    std::string old_uri;
};

}  // namespace

TEST_CASE("outbox.rebase: a dump restored into another cluster is refused until a rebase and read exactly after it") {
    Restored restored;
    const auto uri = restored.restore();
    auto session = connect(uri);
    REQUIRE(
        run_sql(uri, "SELECT pg_snapshot_xmax(snap) > pg_snapshot_xmax(pg_current_snapshot()) FROM outbox_cursor") ==
        "t");

    // Refused, and nothing moves.
    CHECK_THROWS_WITH_AS(product::Reader(session, "build"), doctest::Contains("ftlctl outbox rebase"), Failure);
    CHECK(product::status(session).consumers.at(0).is_foreign);
    CHECK(product::trim(session) == 0);
    commit_each(uri, {"swallowed"});
    // What a reader without the check would have got: nothing, and the cursor would have moved over it.
    pqxx::connection connection(uri);
    pqxx::nontransaction probe(connection);
    const auto snap = run_sql(uri, "SELECT snap::text FROM outbox_cursor");
    const auto now = run_sql(uri, "SELECT pg_current_snapshot()::text");
    CHECK(probe.exec_params(product::sql::kPage, snap, now, "0", 0, 100).empty());

    const auto epoch = std::stoll(run_sql(uri, "SELECT epoch FROM cluster_epoch"));
    Writer open(uri);
    open.touch("open");
    CHECK(product::rebase(session) == 3);
    open.commit();

    // Every file that lives and every mark that waited is dirty again, with no claim left over.
    CHECK(run_sql(uri,
                  "SELECT string_agg(doc_key, ' ' ORDER BY doc_key) FROM feed_dirty WHERE reason = 'rebase'"
                  " AND claim_xmin IS NULL AND failures = 0") == "wc2026/calendar wc2026/standings wc2026/timeline/7");
    CHECK(run_sql(uri, "SELECT gen FROM feed_dirty WHERE doc_key = 'wc2026/standings'") == "2");
    CHECK(std::stoll(run_sql(uri, "SELECT epoch FROM cluster_epoch")) > epoch);
    CHECK(run_sql(uri,
                  "SELECT count(*) FROM feed_document WHERE txid >= pg_snapshot_xmax(pg_current_snapshot())"
                  " OR epoch <> (SELECT epoch FROM cluster_epoch)") == "0");

    // Then: the event for what is born and retired, who was open meanwhile, and what is new.
    commit_each(uri, {"new"});
    CHECK(read_records(session, "build") == "test:open event:wc2026 test:new ");
    CHECK(read_records(session, "build").empty());
    CHECK_FALSE(product::status(session).consumers.at(0).is_foreign);
    // No row of the old cluster waits for this cluster's xids to reach its own.
    CHECK(run_sql(uri, "SELECT count(*) FROM outbox WHERE txid >= pg_snapshot_xmax(pg_current_snapshot())") == "0");
}

TEST_CASE("outbox.rebase: xids that were set back are noticed although the cluster is the same") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    db.exec("UPDATE outbox_cursor SET snap = '9000000000:9000000000:'");
    CHECK_THROWS_WITH_AS(product::Reader(session, "build"), doctest::Contains("ftlctl outbox rebase"), Failure);
    db.exec(
        "UPDATE outbox_cursor SET snap = pg_current_snapshot(), upto = '9000000000:9000000000:', after_txid = '1',"
        " after_id = 1");
    CHECK_THROWS_AS(product::Reader(session, "build"), Failure);
    CHECK(product::status(session).consumers.at(0).is_foreign);
    product::rebase(session);
    CHECK(read_records(session, "build").empty());
    CHECK(db.value("SELECT upto IS NULL AND after_txid IS NULL AND after_id IS NULL FROM outbox_cursor") == "t");
}

namespace {

/// Files that each copy one record, built the way the build room does it, cut down: dirty marks with a generation, the
/// mark deleted only if its generation is unchanged.
class CopyingBuilder {
public:
    explicit CopyingBuilder(std::string uri) : uri_(std::move(uri)), connection_(uri_) {}

    static void mark(pqxx::transaction_base& tx, std::span<const product::OutboxRow> rows) {
        for (const auto& row : rows) {
            if (row.record.kind != "test") continue;
            tx.exec_params(
                "INSERT INTO feed_dirty AS d (doc_key, first_touch, last_touch) VALUES ($1, now(), now())"
                " ON CONFLICT (doc_key) DO UPDATE SET gen = d.gen + 1",
                "wc2026/copy/" + row.record.id);
        }
    }

    bool build_one() {
        std::string doc_key;
        std::int64_t gen = 0;
        {
            pqxx::work claim(connection_);
            const auto rows = claim.exec("SELECT doc_key, gen FROM feed_dirty ORDER BY random() LIMIT 1");
            if (rows.empty()) return false;
            doc_key = rows[0][0].c_str();
            gen = rows[0][1].as<std::int64_t>();
        }
        pqxx::work build(connection_);
        build.exec_params(
            "INSERT INTO copy SELECT $1, n FROM truth WHERE 'wc2026/copy/' || record = $1"
            " ON CONFLICT (doc_key) DO UPDATE SET n = excluded.n",
            doc_key);
        build.commit();
        pqxx::work done(connection_);
        done.exec_params("DELETE FROM feed_dirty WHERE doc_key = $1 AND gen = $2", doc_key, gen);
        done.commit();
        return true;
    }

private:
    std::string uri_;
    pqxx::connection connection_;
};

}  // namespace

TEST_CASE("outbox.rebase: beside writers and a reader and a builder no change is lost") {
    FTL_RNG(rng);
    const Database db;
    db.exec("CREATE TABLE truth (record text PRIMARY KEY, n int NOT NULL)");
    db.exec("CREATE TABLE copy (doc_key text PRIMARY KEY, n int NOT NULL)");
    db.exec("INSERT INTO truth SELECT g::text, 0 FROM generate_series(0, 4) g");
    for (int i = 0; i < 5; ++i) make_document(db.uri(), "wc2026/copy/" + std::to_string(i));
    auto session = connect(db);
    product::register_consumer(session, "build");
    {
        std::jthread writer([&db, seed = rng.engine()()](const std::stop_token& stop) {
            Rng own(seed);
            auto connection = db.connect();
            while (!stop.stop_requested()) {
                pqxx::work tx(connection);
                const auto record = std::to_string(own.between(0, 4));
                tx.exec_params("UPDATE truth SET n = n + 1 WHERE record = $1", record);
                tx.exec_params("SELECT ftl_touch('test', $1)", record);
                tx.commit();
            }
        });
        std::jthread reading([&db](const std::stop_token& stop) {
            auto own = connect(db);
            product::Reader reader(own, "build");
            while (!stop.stop_requested()) reader.read_page(CopyingBuilder::mark);
        });
        std::jthread building([&db](const std::stop_token& stop) {
            CopyingBuilder builder(db.uri());
            while (!stop.stop_requested()) builder.build_one();
        });
        for (int i = 0; i < 8; ++i) CHECK(product::rebase(session) >= 5);
        // The last rebase's marks are not all that is left to do.
        const auto before = db.value("SELECT sum(n) FROM truth");
        CHECK(wait_until([&] { return db.value("SELECT sum(n) FROM truth") != before; }));
    }
    product::Reader reader(session, "build");
    while (reader.read_page(CopyingBuilder::mark) > 0) {
    }
    CopyingBuilder builder(db.uri());
    while (builder.build_one()) {
    }
    CHECK(db.value("SELECT count(*) FROM truth LEFT JOIN copy ON copy.doc_key = 'wc2026/copy/' || record"
                   " WHERE copy.n IS DISTINCT FROM truth.n") == "0");
}
