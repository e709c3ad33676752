#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/pool.hpp>
#include <optional>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <thread>
#include <vector>

#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using core::Failure;
using ftl::test::Content;
using ftl::test::Database;
using std::chrono::milliseconds;

namespace {

void terminate_all(const Database& db) {
    db.exec(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND "
        "application_name = 'pool'");
    REQUIRE(ftl::test::wait_until([&] {
        return db.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = "
                   "'pool'") == "0";
    }));
}

}  // namespace

TEST_CASE("store.pool: nothing is opened before it is wanted and an idle session is used again") {
    const Database db(Content::kNothing);
    store::Pool pool(settings_of(db, "pool"), 2);
    CHECK(
        db.value(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pool'") ==
        "0");
    const int pid = pool.borrow()->backend_pid();
    CHECK(pool.borrow()->backend_pid() == pid);
}

TEST_CASE("store.pool: one too many waits for its limit and no longer than until a place is free") {
    const Database db(Content::kNothing);
    store::Pool pool(settings_of(db, "pool"), 1);
    std::optional<store::Pool::Loan> loan(pool.borrow());
    CHECK_THROWS_AS(static_cast<void>(pool.borrow(milliseconds(20))), Failure);
    std::atomic<bool> got_one{false};
    std::jthread waiter([&] {
        const auto second = pool.borrow(std::chrono::seconds(60));
        got_one = true;
    });
    loan.reset();
    waiter.join();
    CHECK(got_one);
}

TEST_CASE("store.pool: broken sessions are thrown away whether they were on loan or idle") {
    const Database db(Content::kNothing);
    store::Pool pool(settings_of(db, "pool"), 3);
    {
        const auto a = pool.borrow();
        const auto b = pool.borrow();
        terminate_all(db);
        CHECK_THROWS_AS(a->read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); }), Failure);
    }
    {
        const auto a = pool.borrow();
        const auto b = pool.borrow();
    }
    terminate_all(db);
    // Idle ones that died meanwhile: the borrower never sees them.
    for (int i = 0; i < 3; ++i) {
        const auto loan = pool.borrow();
        loan->read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); });
    }
}

TEST_CASE("store.pool: a connection that fails gives its place back") {
    store::Pool pool(ftl::test::settings_of("postgresql://me@127.0.0.1:1/feed"), 1);
    for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(static_cast<void>(pool.borrow(milliseconds(10))), Failure);
}

TEST_CASE(
    "store.pool: each new session is greeted before anybody gets it and a greeting that fails gives its place back") {
    const Database db(Content::kNothing);
    int greeted = 0;
    bool is_refused = false;
    store::Pool pool(settings_of(db, "pool"), 1, [&](store::Session& session) {
        session.read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); });
        ++greeted;
        if (is_refused) throw Failure::busy("not now");
    });
    for (int i = 0; i < 3; ++i) static_cast<void>(pool.borrow());
    CHECK(greeted == 1);
    terminate_all(db);
    is_refused = true;
    for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH_AS(static_cast<void>(pool.borrow()), "not now", Failure);
    is_refused = false;
    static_cast<void>(pool.borrow());
    CHECK(greeted == 4);
}
