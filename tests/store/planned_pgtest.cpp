#include "store/planned.hpp"

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/connection>
#include <pqxx/result>
#include <pqxx/transaction>

#include "support/pg.hpp"
#include "support/session.hpp"

using namespace ftlfeed;
using ftl::test::Content;
using ftl::test::Database;

namespace {

/// Statements that `session` has prepared, whatever their text.
int prepared_in(store::Session& session) {
    int count = 0;
    session.read([&](pqxx::transaction_base& tx) {
        count = tx.exec("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'ftl%'")[0][0].as<int>();
    });
    return count;
}

int doubled(store::Session& session, int number) {
    int result = 0;
    session.read([&](pqxx::transaction_base& tx) {
        result = store::exec_planned(tx, "SELECT 2 * $1::integer", number)[0][0].as<int>();
    });
    return result;
}

}  // namespace

TEST_CASE("store.planned: a statement is prepared once in a session and keeps its own values") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    for (int number = 0; number < 10; ++number) CHECK(doubled(session, number) == 2 * number);
    CHECK(prepared_in(session) == 1);
}

TEST_CASE("store.planned: a statement outlives the transaction that failed after it") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    CHECK_THROWS_AS(session.write([](pqxx::transaction_base& tx) {
        store::exec_planned(tx, "SELECT 2 * $1::integer", 1);
        tx.exec("SELECT 1 / 0");
    }),
                    core::Failure);
    CHECK(doubled(session, 4) == 8);
    CHECK(prepared_in(session) == 1);
}

TEST_CASE("store.planned: a statement that cannot be parsed fails each time and stops no other") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    const auto broken = [&] {
        session.read([](pqxx::transaction_base& tx) { store::exec_planned(tx, "SELEKT $1::integer", 1); });
    };
    CHECK_THROWS_AS(broken(), core::Failure);
    CHECK_THROWS_AS(broken(), core::Failure);
    CHECK(doubled(session, 4) == 8);
}

TEST_CASE("store.planned: a unit of work inside another's uses its own session's statements") {
    const Database db(Content::kNothing);
    auto outer = connect(db);
    auto inner = connect(db);
    outer.read([&](pqxx::transaction_base& tx) {
        CHECK(doubled(inner, 3) == 6);
        CHECK(store::exec_planned(tx, "SELECT 3 * $1::integer", 3)[0][0].as<int>() == 9);
    });
    CHECK(prepared_in(outer) == 1);
    CHECK(prepared_in(inner) == 1);
}

TEST_CASE("store.planned: in a transaction of the user's own nothing is kept") {
    const Database db(Content::kNothing);
    pqxx::connection connection(db.uri());
    pqxx::work tx(connection);
    CHECK(store::exec_planned(tx, "SELECT 2 * $1::integer", 5)[0][0].as<int>() == 10);
    CHECK(tx.exec("SELECT count(*) FROM pg_prepared_statements")[0][0].as<int>() == 0);
}

TEST_CASE("store.planned: a session keeps 500 statements at most and runs the others all the same") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    session.read([](pqxx::transaction_base& tx) {
        for (int i = 0; i < 510; ++i) {
            const auto sql = "SELECT $1::integer + " + std::to_string(i);
            CHECK(store::exec_planned(tx, sql, 1)[0][0].as<int>() == 1 + i);
        }
    });
    CHECK(prepared_in(session) == 500);
}

TEST_CASE("store.planned: a plan goes on to hold when the tables under it change") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    db.exec("CREATE TABLE score (goals integer); INSERT INTO score VALUES (3)");
    const auto goals = [&] {
        std::string text;
        session.read([&](pqxx::transaction_base& tx) {
            text = store::exec_planned(tx, "SELECT goals::text FROM score WHERE $1", true)[0][0].c_str();
        });
        return text;
    };
    CHECK(goals() == "3");
    db.exec("ALTER TABLE score ALTER goals TYPE numeric(4, 1), ADD COLUMN extra text");
    CHECK(goals() == "3.0");
}
