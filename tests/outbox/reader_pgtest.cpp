#include <doctest/doctest.h>

#include <algorithm>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/outbox/touch.hpp>
#include <ftlfeed/store/session.hpp>
#include <memory>
#include <pqxx/transaction_base>
#include <stdexcept>
#include <thread>

#include "history.hpp"
#include "outbox/sql.hpp"
#include "readers.hpp"
#include "scenarios.hpp"
#include "support/pg.hpp"
#include "support/rng.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
using ftlfeed::core::Failure;
using Ids = std::vector<std::string>;

namespace {

std::unique_ptr<AnyReader> reader_of(const Database& db, std::size_t page_rows_max = 100) {
    make_sink(db.uri());
    return snapshot_reader(db.uri(), page_rows_max);
}

Ids all_delivered(const Database& db) { return delivered(db.uri(), "snapshot"); }

}  // namespace

TEST_CASE("outbox.reader: a late committer is delivered at its commit and the later one at once") {
    const Database db;
    const auto reader = reader_of(db);
    Writer a(db.uri());
    a.touch("A");
    commit_each(db.uri(), {"B"});
    CHECK(drain(*reader) == 1);
    CHECK(all_delivered(db) == Ids{"B"});
    a.commit();
    CHECK(drain(*reader) == 1);
    CHECK(all_delivered(db) == Ids{"B", "A"});
    CHECK(judge(db.uri(), "snapshot").is_exact());
}

TEST_CASE("outbox.reader: an open writing transaction in another database of the cluster holds nothing up") {
    const Database db;
    const Database other(Content::kNothing);
    CHECK(read_beside_open_transaction(db.uri(), other.uri(), Method::kSnapshot) == 1);
    CHECK(judge(db.uri(), "snapshot").is_exact());
}

TEST_CASE("outbox.reader: a long read-only transaction holds nothing up") {
    const Database db;
    const auto reader = reader_of(db);
    Writer backup(db.uri());
    backup.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY").run("SELECT count(*) FROM outbox");
    commit_each(db.uri(), {"A"});
    CHECK(drain(*reader) == 1);
    backup.abort();
    CHECK(judge(db.uri(), "snapshot").is_exact());
}

TEST_CASE("outbox.reader: rolled back transactions cost nothing and hide nothing") {
    const Database db;
    const auto verdict = aborted_transactions(db.uri(), Method::kSnapshot);
    CHECK(verdict.rows == 3);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.reader: a transaction of 100 savepoints is delivered whole without what was rolled back") {
    const Database db;
    const auto verdict = hundred_savepoints(db.uri(), Method::kSnapshot);
    CHECK(verdict.rows == 52);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
    // Why the column holds the top-level xid: the rows' own xmin are those of 51 different subtransactions.
    CHECK(db.value("SELECT count(DISTINCT txid) FROM outbox WHERE record_kind = 'test' AND record_id <> 'B'") == "1");
    CHECK(db.value("SELECT count(DISTINCT xmin::text) FROM outbox WHERE record_kind = 'test' AND record_id <> 'B'") ==
          "51");
}

TEST_CASE("outbox.reader: a prepared transaction is delivered when it is committed and holds nothing up before") {
    const Database db;
    const auto reader = reader_of(db);
    const PreparedGuard guard(db.uri(), unique_gid());
    Writer p(db.uri());
    p.run("SET LOCAL ftl.notify = off").touch("P").prepare(guard.gid());
    commit_each(db.uri(), {"B"});
    drain(*reader);
    CHECK(all_delivered(db) == Ids{"B"});
    db.exec("COMMIT PREPARED '" + guard.gid() + "'");
    drain(*reader);
    CHECK(all_delivered(db) == Ids{"B", "P"});
}

TEST_CASE("outbox.reader: pages of one window deliver each row once while others commit between them") {
    const Database db;
    const auto reader = reader_of(db, 3);
    Writer late(db.uri());
    late.touch("late");
    Writer many(db.uri());
    for (const auto* id : {"a0", "a1", "a2", "a3", "a4", "a5", "a6"}) many.touch(id);
    many.commit();
    CHECK(reader->read_page() == 3);
    commit_each(db.uri(), {"m0", "m1"});
    late.commit();
    CHECK(reader->read_page() == 3);
    CHECK(reader->read_page() == 1);  // The end of the window: nothing of what came later.
    CHECK(all_delivered(db) == Ids{"a0", "a1", "a2", "a3", "a4", "a5", "a6"});
    CHECK(drain(*reader) == 3);
    CHECK(judge(db.uri(), "snapshot").is_exact());
}

TEST_CASE("outbox.reader: a window whose last page is full to the row does not hide what came after it") {
    const Database db;
    const auto reader = reader_of(db, 2);
    commit_each(db.uri(), {"a0", "a1"});
    CHECK(reader->read_page() == 2);
    CHECK(db.value("SELECT upto IS NOT NULL FROM outbox_cursor") == "t");
    commit_each(db.uri(), {"b0"});
    // 0 would mean "caught up": the empty rest of the old window and the new one are read in one call.
    CHECK(reader->read_page() == 1);
    CHECK(reader->read_page() == 0);
    CHECK(judge(db.uri(), "snapshot").is_exact());
}

TEST_CASE("outbox.reader: what a page leads to and the cursor's move are one transaction") {
    const Database db;
    make_sink(db.uri());
    auto session = connect(db);
    product::register_consumer(session, "snapshot");
    commit_each(db.uri(), {"A"});
    const auto before = db.value("SELECT snap::text || moved_at FROM outbox_cursor");
    product::Reader reader(session, "snapshot");
    const auto fail = [](pqxx::transaction_base& tx, std::span<const product::OutboxRow> rows) {
        REQUIRE(rows.size() == 1);
        tx.exec_params("INSERT INTO sink (consumer, row_id, record_id) VALUES ('snapshot', $1, 'A')", rows[0].id);
        throw std::runtime_error("the page leads to nothing");
    };
    CHECK_THROWS_AS(reader.read_page(fail), std::runtime_error);
    CHECK(db.value("SELECT count(*) FROM sink") == "0");
    CHECK(db.value("SELECT snap::text || moved_at FROM outbox_cursor") == before);
    drain(*reader_of(db));
    CHECK(all_delivered(db) == Ids{"A"});
}

TEST_CASE("outbox.reader: the cursor's snapshot is newer than its lock whoever read in between") {
    const Database db;
    const auto verdict = wait_for_the_cursor(db.uri(), Method::kSnapshot);
    CHECK(verdict.rows == 2);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.reader: the asking transaction does not pass for finished in the stored snapshot") {
    const Database db;
    Writer reader(db.uri());
    const auto own = reader.value("SELECT pg_current_xact_id()::text");
    commit_each(db.uri(), {"A"});
    const auto visible_in = [&](const std::string& snapshot) {
        return reader.value("SELECT pg_visible_in_snapshot('" + own + "', '" + snapshot + "')");
    };
    // What makes it necessary: Postgres leaves it out of those in progress, and a later one has ended.
    CHECK(visible_in(reader.value("SELECT pg_current_snapshot()::text")) == "t");
    const auto stored = reader.value(product::sql::kOwnOpenSnapshot);
    CHECK(visible_in(stored) == "f");
    const auto a = db.value("SELECT txid::text FROM outbox WHERE record_kind = 'test'");
    CHECK(reader.value("SELECT pg_visible_in_snapshot('" + a + "', '" + stored + "')") == "t");
}

TEST_CASE("outbox.reader: rows that a page's own transaction adds are delivered in a later page") {
    const Database db;
    make_sink(db.uri());
    ReaderOptions options;
    options.uri = db.uri();
    options.consumer = "snapshot";
    options.and_then_sql =
        "SELECT ftl_touch('test', 'own') WHERE (SELECT count(*) FROM outbox WHERE record_kind = 'test') < 60";
    const auto reader = make_reader(Method::kSnapshot, options);
    // Somebody else's transactions end between the reader's lock and its snapshot.
    const auto others = passing_transactions(db.uri());
    commit_each(db.uri(), {"first"});
    drain(*reader);
    const auto verdict = judge(db.uri(), "snapshot");
    CHECK(verdict.rows == 60);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.reader: two readers of one consumer share its rows and repeat none") {
    const Database db;
    const auto first = reader_of(db, 3);
    const auto second = reader_of(db, 3);
    const auto read_all = [](AnyReader& reader, const std::stop_token& stop) {
        while (!stop.stop_requested()) reader.read_page();
    };
    {
        std::jthread one([&](const std::stop_token& stop) { read_all(*first, stop); });
        std::jthread two([&](const std::stop_token& stop) { read_all(*second, stop); });
        for (int i = 0; i < 15; ++i) {
            Writer late(db.uri());
            late.touch("late" + std::to_string(i));
            commit_each(db.uri(), {"a" + std::to_string(i), "b" + std::to_string(i)});
            late.commit();
        }
        CHECK(wait_until([&] { return db.value("SELECT count(*) FROM sink") == "45"; }));
    }
    const auto verdict = judge(db.uri(), "snapshot");
    CHECK(verdict.rows == 45);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.reader: consumers have cursors of their own and each reads every row") {
    const Database db;
    make_sink(db.uri());
    ReaderOptions options;
    options.uri = db.uri();
    options.consumer = "one";
    const auto one = make_reader(Method::kSnapshot, options);
    options.consumer = "two";
    const auto two = make_reader(Method::kSnapshot, options);
    commit_each(db.uri(), {"A", "B"});
    CHECK(drain(*one) == 2);
    commit_each(db.uri(), {"C"});
    CHECK(drain(*two) == 3);
    CHECK(drain(*one) == 1);
}

TEST_CASE("outbox.reader: the order of a window is not that of commits so that effects must not depend on it") {
    const Database db;
    const auto reader = reader_of(db);
    // T1 takes its xid first; T2 takes the instrument's lock first, and with it the lower id.
    Writer t1(db.uri());
    t1.run("SELECT pg_current_xact_id()");
    Writer t2(db.uri());
    t2.touch("seq1");
    t2.commit();
    t1.touch("seq2");
    t1.commit();
    drain(*reader);
    CHECK(all_delivered(db) == Ids{"seq2", "seq1"});
    CHECK(db.value("SELECT string_agg(record_id, ' ' ORDER BY id) FROM outbox WHERE record_kind = 'test'") ==
          "seq1 seq2");
}

TEST_CASE("outbox.reader: effects that mark a record are the same in whatever order and pages a window comes") {
    FTL_RNG(rng);
    const Database db;
    db.exec("CREATE TABLE truth (record text PRIMARY KEY, n int NOT NULL)");
    db.exec("CREATE TABLE copy (record text PRIMARY KEY, n int NOT NULL)");
    db.exec("INSERT INTO truth SELECT 'r' || g, 0 FROM generate_series(0, 4) g");
    auto session = connect(db);
    product::register_consumer(session, "snapshot");
    product::Reader::Options options;
    options.page_rows_max = 2;
    product::Reader reader(session, "snapshot", options);
    // The right kind of effect: what was touched is copied as it stands now.
    const auto copy_touched = [](pqxx::transaction_base& tx, std::span<const product::OutboxRow> rows) {
        for (const auto& row : rows) {
            tx.exec_params(
                "INSERT INTO copy SELECT record, n FROM truth WHERE record = $1"
                " ON CONFLICT (record) DO UPDATE SET n = excluded.n",
                row.record.id);
        }
    };
    for (int i = 0; i < 15; ++i) {
        Writer early(db.uri());
        early.run("SELECT pg_current_xact_id()");
        for (int change = 0; change < 2; ++change) {
            const auto record = "r" + std::to_string(rng.between(0, 4));
            Writer quick(db.uri());
            quick.run("UPDATE truth SET n = n + 1 WHERE record = '" + record + "'").touch(record);
            quick.commit();
        }
        const auto record = "r" + std::to_string(rng.between(0, 4));
        early.run("UPDATE truth SET n = n + 1 WHERE record = '" + record + "'").touch(record);
        if (rng.chance(0.5)) reader.read_page(copy_touched);
        early.commit();
    }
    while (reader.read_page(copy_touched) > 0) {
    }
    CHECK(db.value("SELECT count(*) FROM truth FULL JOIN copy USING (record) WHERE copy.n IS DISTINCT FROM truth.n") ==
          "0");
}

TEST_CASE("outbox.reader: a row comes with its record and its event and Postgres's own time") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "snapshot");
    session.write([](pqxx::transaction_base& tx) { product::touch(tx, {"fixture", "18535482", "wc2026"}); });
    std::vector<product::OutboxRow> got;
    product::Reader reader(session, "snapshot");
    CHECK(reader.read_page([&](pqxx::transaction_base&, std::span<const product::OutboxRow> rows) {
        got.assign(rows.begin(), rows.end());
    }) == 2);
    REQUIRE(got.size() == 2);
    CHECK(got[0].record == ftlfeed::core::RecordRef{"fixture", "18535482", "wc2026"});
    CHECK(got[1].record == ftlfeed::core::RecordRef{"event", "wc2026", "wc2026"});
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(got[0].created_at.time_since_epoch());
    CHECK(db.value(
              "SELECT (extract(epoch FROM created_at) * 1000000)::bigint FROM outbox WHERE record_kind = 'fixture'") ==
          std::to_string(micros.count()));
    CHECK(got[0].id < got[1].id);
}

TEST_CASE("outbox.reader: without a cursor it refuses and names the command that makes one") {
    const Database db;
    auto session = connect(db);
    CHECK_THROWS_WITH_AS(product::Reader(session, "build"), doctest::Contains("ftlctl outbox register build"), Failure);
    CHECK(product::register_consumer(session, "build"));
    product::Reader reader(session, "build");
    CHECK_FALSE(product::register_consumer(session, "build"));
    CHECK(product::unregister_consumer(session, "build"));
    CHECK_FALSE(product::unregister_consumer(session, "build"));
    // Unregistered behind its back: it says so instead of being caught up for ever.
    CHECK_THROWS_AS(reader.read_page([](auto&, auto) {}), Failure);
    CHECK_THROWS_AS(product::register_consumer(session, ""), ftlfeed::core::InvalidInput);
}

TEST_CASE("outbox.reader: a new consumer starts now and what a transaction open at that time commits is its") {
    const Database db;
    commit_each(db.uri(), {"before"});
    Writer open(db.uri());
    open.touch("open");
    const auto reader = reader_of(db);
    commit_each(db.uri(), {"after"});
    open.commit();
    drain(*reader);
    auto ids = all_delivered(db);
    std::sort(ids.begin(), ids.end());
    CHECK(ids == Ids{"after", "open"});
}
