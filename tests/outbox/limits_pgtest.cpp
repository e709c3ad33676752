// What the reader costs and what it may hold (R3, R5, R10).

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <regex>
#include <string>

#include "history.hpp"
#include "outbox/sql.hpp"
#include "readers.hpp"
#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/process.hpp"
#include "support/session.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
using std::chrono::milliseconds;

namespace {

std::size_t read_and_forget(product::Reader& reader) {
    return reader.read_page([](pqxx::transaction_base&, std::span<const product::OutboxRow>) {});
}

/// Changes when the row is written or locked: FOR UPDATE sets xmax.
std::string cursor_stamp(const Database& db) {
    return db.value(
        "SELECT xmin::text || '/' || xmax::text || '/' || ctid::text || '/' || moved_at FROM outbox_cursor");
}

/// 60,000 rows of 20,000 transactions that ended before the cursor's snapshot, without statistics.
void fill(const Database& db) {
    db.exec(
        "INSERT INTO outbox (txid, record_kind, record_id)"
        " SELECT (3 + g / 3)::text::xid8, 'test', g::text FROM generate_series(0, 59999) g");
}

/// Pages of shared buffers that a query touches, planned for whatever parameters may come.
int buffers_of(const Database& db, const std::string& query, const std::string& types, const std::string& values) {
    auto connection = db.connect();
    pqxx::nontransaction session(connection);
    session.exec("SET plan_cache_mode = force_generic_plan");
    session.exec("PREPARE q (" + types + ") AS " + query);
    int buffers = 0;
    for (const auto& row : session.exec("EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE q (" + values + ")")) {
        const std::string line = row[0].c_str();
        std::smatch match;
        // The first line of buffers is that of the whole plan.
        if (!std::regex_search(line, match, std::regex("Buffers: shared( hit=([0-9]+))?( read=([0-9]+))?"))) continue;
        for (const int group : {2, 4}) {
            if (match[static_cast<std::size_t>(group)].matched)
                buffers += std::stoi(match[static_cast<std::size_t>(group)]);
        }
        break;
    }
    return buffers;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("outbox.reader: idle polls write nothing and do not lock the cursor") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    product::Reader::Options options;
    options.idle_move_interval = std::chrono::hours(24);
    options.idle_move_xids = 1'000'000'000;
    product::Reader reader(session, "build", options);
    const auto stamp = cursor_stamp(db);
    for (int i = 0; i < 50; ++i) CHECK(read_and_forget(reader) == 0);
    CHECK(cursor_stamp(db) == stamp);
    commit_each(db.uri(), {"A"});
    CHECK(read_and_forget(reader) == 1);
    CHECK(cursor_stamp(db) != stamp);
}

TEST_CASE("outbox.reader: an idle cursor moves when its time has come or enough transactions went by") {
    CHECK(product::Reader::Options().idle_move_interval == std::chrono::seconds(10));
    CHECK(product::Reader::Options().idle_move_xids == 10'000);
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    const auto move_after = [&](milliseconds interval, std::int64_t xids) {
        product::Reader::Options options;
        options.idle_move_interval = interval;
        options.idle_move_xids = xids;
        product::Reader reader(session, "build", options);
        const auto stamp = cursor_stamp(db);
        CHECK(read_and_forget(reader) == 0);
        return cursor_stamp(db) != stamp;
    };
    db.exec("UPDATE outbox_cursor SET moved_at = clock_timestamp() - interval '9 seconds'");
    CHECK_FALSE(move_after(milliseconds(10000), 1'000'000'000));
    db.exec("UPDATE outbox_cursor SET moved_at = clock_timestamp() - interval '10 seconds'");
    CHECK(move_after(milliseconds(10000), 1'000'000'000));
    // A server's clock that was set back must not stop it for as long.
    db.exec("UPDATE outbox_cursor SET moved_at = clock_timestamp() + interval '10 seconds'");
    CHECK(move_after(milliseconds(9000), 1'000'000'000));
    for (int i = 0; i < 20; ++i) db.exec("SELECT pg_current_xact_id()");
    CHECK(move_after(std::chrono::hours(24), 20));
    CHECK_FALSE(move_after(std::chrono::hours(24), 1'000'000));
}

TEST_CASE("outbox.reader: a late committer is delivered after idle moves too") {
    const Database db;
    make_sink(db.uri());
    auto session = connect(db);
    product::register_consumer(session, "build");
    product::Reader::Options options;
    options.idle_move_interval = milliseconds(0);
    product::Reader reader(session, "build", options);
    Writer late(db.uri());
    late.touch("late");
    for (int i = 0; i < 3; ++i) {
        CHECK(read_and_forget(reader) == 0);
        db.exec("SELECT pg_current_xact_id()");
    }
    late.commit();
    CHECK(read_and_forget(reader) == 1);
    CHECK(read_and_forget(reader) == 0);
}

TEST_CASE("outbox.reader: a poll costs a few pages of the index however long the outbox and with any plan") {
    const Database db;
    fill(db);
    auto session = connect(db);
    product::register_consumer(session, "build");
    Writer open(db.uri());
    open.run("SELECT pg_current_xact_id()");
    commit_each(db.uri(), {"A"});  // So that the cursor's snapshot names the open one.
    db.exec("UPDATE outbox_cursor SET snap = pg_current_snapshot()");
    const auto snapshot = "'" + db.value("SELECT snap::text FROM outbox_cursor") + "'";
    const auto now = "'" + db.value("SELECT pg_current_snapshot()::text") + "'";
    const std::string types = "text, text, text, bigint, bigint";
    const auto at_the_end = snapshot + ", " + now + ", '0', 0, 100";
    for (const bool analyzed : {false, true}) {
        CAPTURE(analyzed);
        if (analyzed) db.exec("ANALYZE outbox");
        CHECK(buffers_of(db, product::sql::kPage, types, at_the_end) <= 20);
        CHECK(buffers_of(db, product::sql::kProbe, "text, bigint, bigint", "'build', 1000000, 1000000") <= 30);
        // Far behind: a page costs its rows, not the backlog.
        CHECK(buffers_of(db, product::sql::kPage, types, "'3:3:', " + now + ", '0', 0, 100") <= 30);
        CHECK(buffers_of(db, product::sql::kPage, types, "'3:3:', " + now + ", '9000', 0, 100") <= 30);
    }
    // Known to be wrong: the start as two conditions (R3), and the question without the index.
    const auto two_conditions = replaced(
        product::sql::kPage,
        "(txid, id) > (greatest(pg_snapshot_xmax($1::pg_snapshot), $3::xid8),\n"
        "                          CASE WHEN $3::xid8 >= pg_snapshot_xmax($1::pg_snapshot) THEN $4::bigint ELSE 0 END)",
        "NOT pg_visible_in_snapshot(txid, $1::pg_snapshot) AND (txid, id) > ($3::xid8, $4::bigint)");
    // How many more than the 20 that are allowed above depends on the plan.
    CHECK(buffers_of(db, two_conditions, types, at_the_end) > 25);
}

TEST_CASE("outbox.reader: a reader that was stopped in mid-page loses the cursor within its limit") {
    const Database db;
    make_sink(db.uri());
    const auto next = snapshot_reader(db.uri());
    commit_each(db.uri(), {"A", "B"});
    const TempFolder folder;
    ProcessOptions process_options;
    process_options.log = folder / "log";
    Process stopped({(binary_dir() / "tests/outbox_reader").string(), db.uri(), "snapshot", "snapshot", "100", "hold"},
                    process_options);
    REQUIRE(wait_until([&] { return read_file(folder / "log").find("holding") != std::string::npos; }));
    stopped.signal(SIGSTOP);
    const auto begin = std::chrono::steady_clock::now();
    // Its lock makes others wait; the server ends its session.
    const bool read = wait_until([&] {
        try {
            return next->read_page() == 2;
        } catch (const ftlfeed::core::Failure& failure) {
            CHECK(failure.may_retry());
            return false;
        }
    });
    CHECK(read);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(7));
    CHECK(product::Reader::Options().hold_limit < std::chrono::seconds(5));
    stopped.signal(SIGCONT);
    stopped.kill();
    const auto verdict = judge(db.uri(), "snapshot");
    CHECK(verdict.rows == 2);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.reader: a page's limits end with its transaction") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    const auto limits_in = [&](product::Reader::Options options) {
        commit_each(db.uri(), {"A"});
        std::string within;
        product::Reader(session, "build", options).read_page([&](pqxx::transaction_base& tx, auto) {
            within =
                tx.exec1(
                      "SELECT concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'),"
                      " current_setting('idle_in_transaction_session_timeout'),"
                      " current_setting('client_connection_check_interval'), current_setting('synchronous_commit'))")[0]
                    .c_str();
        });
        return within;
    };
    CHECK(limits_in({}) == "4s 4s 4s 1s on");
    product::Reader::Options marks;
    marks.waits_for_disk = false;
    CHECK(limits_in(marks) == "4s 4s 4s 1s off");
    session.read(
        [](pqxx::transaction_base& tx) { CHECK(std::string(tx.exec1("SHOW statement_timeout")[0].c_str()) == "30s"); });
}

TEST_CASE("outbox.reader: a reader that cannot have the cursor says that it may try again") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    commit_each(db.uri(), {"A"});
    product::Reader::Options options;
    options.hold_limit = milliseconds(50);
    product::Reader reader(session, "build", options);
    Writer other(db.uri());
    other.run("SELECT 1 FROM outbox_cursor FOR UPDATE");
    try {
        read_and_forget(reader);
        FAIL("it read beside the lock");
    } catch (const ftlfeed::core::Failure& failure) {
        CHECK(failure.may_retry());
        CHECK_FALSE(failure.connection_lost());
    }
    other.abort();
    CHECK(read_and_forget(reader) == 1);
}
