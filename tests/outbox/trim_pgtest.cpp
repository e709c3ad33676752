#include <doctest/doctest.h>

#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/transaction_base>
#include <string>

#include "history.hpp"
#include "readers.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
namespace store = ftlfeed::store;

namespace {

void read_all(store::Session& session, const std::string& consumer, std::size_t page_rows_max = 100) {
    product::Reader::Options options;
    options.page_rows_max = page_rows_max;
    options.idle_move_interval = std::chrono::milliseconds(0);
    product::Reader reader(session, consumer, options);
    while (reader.read_page([](pqxx::transaction_base&, std::span<const product::OutboxRow>) {}) > 0) {
    }
}

std::string left(const Database& db) {
    return db.value(
        "SELECT coalesce(string_agg(record_id, ' ' ORDER BY id), '') FROM outbox WHERE record_kind = 'test'");
}

/// Other tests' transactions on the same server may hold every snapshot's xmin back for a while, so it is waited for.
bool trims_down_to(const Database& db, store::Session& session, const std::string& consumer, const std::string& ids) {
    return wait_until([&] {
        read_all(session, consumer);
        product::trim(session);
        return left(db) == ids;
    });
}

}  // namespace

TEST_CASE("outbox.trim: what every consumer has read goes and what one has not read stays whatever its age") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "fast");
    product::register_consumer(session, "slow");
    commit_each(db.uri(), {"A", "B"});
    read_all(session, "fast");
    product::trim(session);
    CHECK(left(db) == "A B");
    read_all(session, "slow");
    CHECK(wait_until([&] {
        read_all(session, "slow");
        return trims_down_to(db, session, "fast", "");
    }));
    commit_each(db.uri(), {"C"});
    read_all(session, "fast");
    product::trim(session);
    CHECK(left(db) == "C");
    // A consumer that is gone keeps nothing.
    product::unregister_consumer(session, "slow");
    CHECK(trims_down_to(db, session, "fast", ""));
}

TEST_CASE("outbox.trim: a row of a transaction that began before all others stays until it was read") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    Writer old(db.uri());
    old.touch("old");
    commit_each(db.uri(), {"A"});
    read_all(session, "build");
    old.commit();
    // By its age, and by its txid, it is the oldest row of all; it turned visible a moment ago.
    product::trim(session);
    CHECK(left(db).find("old") != std::string::npos);
    CHECK(trims_down_to(db, session, "build", ""));
}

TEST_CASE("outbox.trim: rows of a window that is being paged stay until it ends") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    commit_each(db.uri(), {"A", "B", "C", "D"});
    product::Reader::Options options;
    options.page_rows_max = 2;
    product::Reader reader(session, "build", options);
    std::size_t rows = reader.read_page([](auto&, auto) {});
    CHECK(rows == 2);
    product::trim(session);
    CHECK(left(db) == "A B C D");
    CHECK(trims_down_to(db, session, "build", ""));
}

TEST_CASE("outbox.trim: rows that a running build might look for stay until its claim is gone") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    // The builder commits the claim before it takes its snapshot.
    db.exec(
        "INSERT INTO feed_dirty (doc_key, first_touch, last_touch, claim_xmin)"
        " SELECT 'wc2026/live', now(), now(), pg_snapshot_xmin(pg_current_snapshot())");
    commit_each(db.uri(), {"A"});
    for (int i = 0; i < 3; ++i) {
        read_all(session, "build");
        product::trim(session);
    }
    CHECK(left(db) == "A");
    db.exec("UPDATE feed_dirty SET claim_xmin = NULL");
    CHECK(trims_down_to(db, session, "build", ""));
}

TEST_CASE("outbox.trim: an open transaction delays the trimming of newer rows and nothing else") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    Writer open(db.uri());
    open.run("SELECT pg_current_xact_id()");
    commit_each(db.uri(), {"A"});
    read_all(session, "build");
    CHECK(product::status(session).consumers.at(0).rows_behind == 0);
    product::trim(session);
    CHECK(left(db) == "A");
    open.abort();
    CHECK(trims_down_to(db, session, "build", ""));
}

TEST_CASE("outbox.trim: a cursor of another cluster stops it and so does the lack of any cursor") {
    const Database db;
    auto session = connect(db);
    commit_each(db.uri(), {"A"});
    CHECK(product::trim(session) == 0);
    product::register_consumer(session, "build");
    product::register_consumer(session, "stats");
    CHECK(wait_until([&] {
        // Cursors that start after A.
        db.exec("UPDATE outbox_cursor SET snap = pg_current_snapshot()");
        return db.value("SELECT (SELECT min(pg_snapshot_xmin(snap)) FROM outbox_cursor) > max(txid) FROM outbox") ==
               "t";
    }));
    db.exec("UPDATE outbox_cursor SET system_identifier = system_identifier + 1 WHERE consumer = 'stats'");
    CHECK(product::trim(session) == 0);
    db.exec("UPDATE outbox_cursor SET system_identifier = system_identifier - 1 WHERE consumer = 'stats'");
    // The same cluster, but its xids were set back: the cursor comes from the future.
    db.exec("UPDATE outbox_cursor SET snap = '9000000000:9000000000:' WHERE consumer = 'stats'");
    CHECK(product::trim(session) == 0);
    CHECK(left(db) == "A");
    db.exec("UPDATE outbox_cursor SET snap = pg_current_snapshot() WHERE consumer = 'stats'");
    CHECK(product::trim(session) > 0);
    CHECK(left(db) == "");
}

TEST_CASE("outbox.trim: a call deletes no more rows than it may and the oldest first") {
    const Database db;
    auto session = connect(db);
    db.exec("DELETE FROM outbox");
    product::register_consumer(session, "build");
    commit_each(db.uri(), {"A", "B", "C"});
    CHECK(wait_until([&] {
        read_all(session, "build");
        return db.value("SELECT (SELECT pg_snapshot_xmin(snap) FROM outbox_cursor) > max(txid) FROM outbox") == "t";
    }));
    CHECK(product::trim(session, 2) == 2);
    CHECK(left(db) == "C");
    CHECK(product::trim(session, 2) == 1);
    CHECK(product::trim(session, 2) == 0);
}
