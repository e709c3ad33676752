#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/errorhandler>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <pqxx/version>
#include <stdexcept>

#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using core::Failure;
using ftl::test::connect;
using ftl::test::Content;
using ftl::test::Database;
using ftl::test::wait_until;
using std::chrono::milliseconds;

namespace {

/// The Failure that `call` throws.
template <typename Call>
Failure failure_of(const Call& call) {
    try {
        call();
    } catch (const Failure& failure) {
        return failure;
    }
    throw std::runtime_error("it did not fail");
}

void run(store::Session& session, const std::string& sql) {
    session.write([&](pqxx::transaction_base& tx) { tx.exec(sql); });
}

std::string value(store::Session& session, const std::string& sql) {
    std::string text;
    session.read([&](pqxx::transaction_base& tx) { text = tx.exec(sql)[0][0].as<std::string>("NULL"); });
    return text;
}

void terminate_backend(const Database& db, int pid) {
    db.exec("SELECT pg_terminate_backend(" + std::to_string(pid) + ", 10000)");
    REQUIRE(wait_until(
        [&] { return db.value("SELECT count(*) FROM pg_stat_activity WHERE pid = " + std::to_string(pid)) == "0"; }));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("store.session: after its backend was terminated it is of no use and never on a new pid") {
    const Database db(Content::kNothing);
    for (const bool plain : {false, true}) {
        store::Session session(settings_of(db, "doomed"));
        session.without_transaction([](pqxx::transaction_base& tx) { tx.exec("SELECT pg_advisory_lock(7)"); });
        const int pid = session.backend_pid();
        terminate_backend(db, pid);
        int calls = 0;
        const auto work = [&](pqxx::transaction_base& tx) {
            ++calls;
            tx.exec("SELECT 1");
        };
        for (int i = 0; i < 2; ++i) {
            const auto failure = failure_of([&] { plain ? session.without_transaction(work) : session.write(work); });
            CHECK(failure.connection_lost());
            CHECK(failure.may_retry());
        }
        CHECK(calls == 0);
        CHECK(session.is_broken());
        CHECK(session.backend_pid() == pid);
        // Nothing of it came back, under whatever pid.
        CHECK(db.value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name "
                       "= 'doomed'") == "0");
    }
}

#if PQXX_VERSION_MAJOR < 7
TEST_CASE("store.session: canary - libpqxx 6 by itself comes back on a new pid without its locks") {
    const Database db(Content::kNothing);
    auto connection = db.connect();
    const auto look = [&](const std::string& sql) {
        pqxx::nontransaction tx(connection);
        return tx.exec(sql)[0][0].as<int>();
    };
    look("SELECT 1 FROM pg_advisory_lock(7)");
    const int pid = connection.backendpid();
    terminate_backend(db, pid);
    const pqxx::quiet_errorhandler quiet(connection);
    bool came_back = false;
    for (int i = 0; i < 5 && !came_back; ++i) {
        try {
            came_back = look("SELECT pg_backend_pid()") != pid;
        } catch (const std::exception&) {
            // The first calls fail; then the same object works again.
        }
    }
    CHECK(came_back);
    CHECK(look("SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM "
               "pg_database WHERE datname = current_database())") == 0);
}
#endif

TEST_CASE("E29: a unit of work whose connection drops is gone whole and none of its statements is committed alone") {
    const Database db(Content::kNothing);
    db.exec("CREATE TABLE t (n int)");
    auto session = connect(db);
    const auto failure = failure_of([&] {
        session.write([&](pqxx::transaction_base& tx) {
            tx.exec("INSERT INTO t VALUES (1)");
            terminate_backend(db, session.backend_pid());
            tx.exec("INSERT INTO t VALUES (2)");
        });
    });
    CHECK(failure.kind() == Failure::Kind::kUnavailable);
    CHECK(failure.connection_lost());
    CHECK(session.is_broken());
    CHECK(db.value("SELECT count(*) FROM t") == "0");
}

TEST_CASE("store.session: a server process that is stopped holds a call no longer than the limit") {
    const Database db(Content::kNothing);
    auto settings = settings_of(db);
    settings.work_limit = milliseconds(300);
    settings.statement_timeout = milliseconds(100);  // Of no help: it is the stopped process that would look at it.
    store::Session session(settings);
    const int pid = session.backend_pid();
    REQUIRE(kill(pid, SIGSTOP) == 0);
    const auto begin = core::Clock::real().steady_now();
    const auto failure = failure_of([&] { value(session, "SELECT 1"); });
    const auto took = core::Clock::real().steady_now() - begin;
    kill(pid, SIGCONT);
    CHECK(took >= milliseconds(300));
    CHECK(took < milliseconds(10000));
    CHECK(failure.connection_lost());
    CHECK(contains(failure.what(), "no answer within 300 ms"));
    CHECK(session.is_broken());
}

TEST_CASE("store.session: canary - libpqxx by itself cuts a parameter at its NUL and says nothing") {
    const Database db(Content::kNothing);
    auto connection = db.connect();
    pqxx::nontransaction tx(connection);
    CHECK(tx.exec_params("SELECT length($1::text)", std::string("a\0bcd", 5))[0][0].as<int>() == 1);
}

TEST_CASE("store.session: the answers of Postgres become failures that answer questions") {
    const Database db(Content::kNothing);
    db.exec("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)");
    auto settings = settings_of(db);
    settings.statement_timeout = milliseconds(50);
    settings.lock_timeout = milliseconds(20);
    store::Session session(settings);
    auto other = connect(db);
    const auto by = [&](const std::string& sql) { return failure_of([&] { run(session, sql); }); };

    const auto twice = by("INSERT INTO t VALUES (1)");
    CHECK(twice.native_code() == "23505");
    CHECK(twice.kind() == Failure::Kind::kPermanent);
    CHECK(by("SELECT pg_sleep(10)").native_code() == "57014");
    CHECK(by("SELECT pg_sleep(10)").kind() == Failure::Kind::kBusy);
    other.write([&](pqxx::transaction_base& tx) {
        tx.exec("LOCK TABLE t");
        CHECK(by("INSERT INTO t VALUES (2)").native_code() == "55P03");
    });
    CHECK(by("SELEKT").native_code() == "42601");
    // None of them cost the connection.
    CHECK_FALSE(session.is_broken());
    CHECK(value(session, "SELECT count(*) FROM t") == "1");
}

TEST_CASE("store.session: a transaction left idle is ended by the server and the session with it") {
    const Database db(Content::kNothing);
    auto settings = settings_of(db);
    settings.idle_in_transaction_timeout = milliseconds(50);
    store::Session session(settings);
    const auto failure = failure_of([&] {
        session.write([&](pqxx::transaction_base& tx) {
            tx.exec("SELECT 1");
            REQUIRE(wait_until([&] { return session.is_broken(); }));
            tx.exec("SELECT 1");
        });
    });
    CHECK(failure.connection_lost());
    CHECK(failure.may_retry());
}

TEST_CASE("store.session: an exception of the work rolls back and passes through") {
    const Database db(Content::kNothing);
    db.exec("CREATE TABLE t (n int)");
    auto session = connect(db);
    CHECK_THROWS_AS(session.write([](pqxx::transaction_base& tx) {
        tx.exec("INSERT INTO t VALUES (1)");
        throw std::out_of_range("mine");
    }),
                    std::out_of_range);
    CHECK_FALSE(session.is_broken());
    CHECK(value(session, "SELECT count(*) FROM t") == "0");
}

TEST_CASE("store.session: reading cannot write and a snapshot stays the one it was") {
    const Database db(Content::kNothing);
    db.exec("CREATE TABLE t (n int)");
    auto session = connect(db);
    const auto refused = failure_of([&] { value(session, "INSERT INTO t VALUES (1) RETURNING n"); });
    CHECK(refused.kind() == Failure::Kind::kPermanent);
    CHECK_FALSE(session.is_broken());
    session.read_snapshot([&](pqxx::transaction_base& tx) {
        CHECK(tx.exec("SELECT count(*) FROM t")[0][0].as<int>() == 0);
        db.exec("INSERT INTO t VALUES (1)");
        CHECK(tx.exec("SELECT count(*) FROM t")[0][0].as<int>() == 0);
    });
    session.read([&](pqxx::transaction_base& tx) {
        CHECK(tx.exec("SELECT count(*) FROM t")[0][0].as<int>() == 1);
        db.exec("INSERT INTO t VALUES (2)");
        CHECK(tx.exec("SELECT count(*) FROM t")[0][0].as<int>() == 2);
    });
}

TEST_CASE("store.session: every session has our limits and speaks UTC whatever the database says") {
    const Database db(Content::kNothing);
    db.exec("ALTER DATABASE " + db.name() + " SET timezone = 'Asia/Tokyo'");
    db.exec("ALTER DATABASE " + db.name() + " SET bytea_output = 'escape'");
    store::Session session(settings_of(db, "ftl-test/limits"));
    CHECK(value(session, "SHOW timezone") == "UTC");
    CHECK(value(session, "SHOW bytea_output") == "hex");
    CHECK(value(session, "SHOW statement_timeout") == "30s");
    CHECK(value(session, "SHOW lock_timeout") == "10s");
    CHECK(value(session, "SHOW idle_in_transaction_session_timeout") == "10s");
    CHECK(value(session, "SHOW application_name") == "ftl-test/limits");
    CHECK(value(session, "SHOW client_encoding") == "UTF8");
}

TEST_CASE("store.session: a text of several statements runs whole") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    session.write([](pqxx::transaction_base& tx) {
        store::execute_script(tx, "CREATE TABLE a (n int); CREATE TABLE b (n int);\nINSERT INTO a VALUES (1)");
    });
    CHECK(value(session, "SELECT count(*) FROM a") == "1");
}

TEST_CASE("store.session: locks of the session go when it is told to unlock all") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    session.without_transaction(
        [](pqxx::transaction_base& tx) { tx.exec("SELECT pg_advisory_lock(7), pg_advisory_lock(8)"); });
    const auto locks = [&] {
        return db.value(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database "
            "WHERE datname = current_database())");
    };
    CHECK(locks() == "2");
    session.unlock_all();
    CHECK(locks() == "0");
    terminate_backend(db, session.backend_pid());
    session.unlock_all();  // Does not throw.
    CHECK(session.is_broken());
}

TEST_CASE("store.session: notices and warnings print nothing") {
    const Database db(Content::kNothing);
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "log", "");
    const int saved = dup(STDERR_FILENO);
    std::FILE* file = std::fopen((folder / "log").c_str(), "a");
    dup2(fileno(file), STDERR_FILENO);
    {
        auto session = connect(db);
        run(session, "CREATE TABLE t (n int)");
        run(session, "CREATE TABLE IF NOT EXISTS t (n int); DO $$BEGIN RAISE WARNING 'hear me'; END$$");
        try {
            session.write([&](pqxx::transaction_base& tx) {
                terminate_backend(db, session.backend_pid());
                tx.exec("SELECT 1");
            });
        } catch (const Failure&) {
            // What matters is what was printed meanwhile.
        }
    }
    dup2(saved, STDERR_FILENO);
    close(saved);
    std::fclose(file);
    CHECK(ftl::test::read_file(folder / "log") == "");
}

TEST_CASE("store.session: a server that is not there is unavailable and the password stays secret") {
    auto settings = ftl::test::settings_of("postgresql://me@127.0.0.1:1/feed");
    settings.password = core::Secret("hunter2");
    const auto failure = failure_of([&] { const store::Session session(settings); });
    CHECK(failure.kind() == Failure::Kind::kUnavailable);
    CHECK(failure.connection_lost());
    CHECK_FALSE(contains(failure.what(), "hunter2"));
}

TEST_CASE("store.session: a database that is not there says its name") {
    const Database db(Content::kNothing);
    const auto failure = failure_of([&] { const auto session = connect(db.uri() + "_gone"); });
    CHECK(contains(failure.what(), db.name() + "_gone"));
}
