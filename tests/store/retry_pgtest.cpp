#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <thread>

#include "support/pg.hpp"
#include "support/relay.hpp"
#include "support/session.hpp"

using namespace ftlfeed;
using core::Failure;
using ftl::test::Content;
using ftl::test::Database;
using ftl::test::Relay;

namespace {

/// Moves a price once: the ledger's unique key makes a repetition a no-op.
void move_price(pqxx::transaction_base& tx) {
    const auto rows = tx.exec("INSERT INTO ledger VALUES (501, 7) ON CONFLICT DO NOTHING RETURNING 1");
    if (!rows.empty()) tx.exec("UPDATE price SET total = total + 100 WHERE instrument = 7");
}

void make_price_tables(const Database& db) {
    db.exec("CREATE TABLE ledger (event int, instrument int, PRIMARY KEY (event, instrument))");
    db.exec("CREATE TABLE price (instrument int, total int); INSERT INTO price VALUES (7, 0)");
}

}  // namespace

TEST_CASE("store.retry: two units of work that met in a deadlock are both done whole") {
    const Database db(Content::kNothing);
    db.exec("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0), (2, 0)");
    std::barrier both_hold_one(2);
    std::atomic<int> tries{0};
    const auto add_in_order = [&](int first, int second) {
        auto session = connect(db);
        int mine = 0;
        session.write_retrying([&](pqxx::transaction_base& tx) {
            ++tries;
            tx.exec("SET LOCAL deadlock_timeout = '20ms'");
            tx.exec_params("UPDATE t SET n = n + 1 WHERE id = $1", first);
            if (++mine == 1) both_hold_one.arrive_and_wait();
            tx.exec_params("UPDATE t SET n = n + 1 WHERE id = $1", second);
        });
    };
    std::jthread one(add_in_order, 1, 2);
    std::jthread two(add_in_order, 2, 1);
    one.join();
    two.join();
    CHECK(tries >= 3);
    CHECK(db.value("SELECT string_agg(n::text, ',') FROM t") == "2,2");
}

TEST_CASE("store.retry: 40001 is tried five times and what else fails is tried once") {
    const Database db(Content::kNothing);
    auto session = connect(db);
    const auto tries_of = [&](const std::string& sqlstate) {
        int tries = 0;
        CHECK_THROWS_AS(session.write_retrying([&](pqxx::transaction_base& tx) {
            ++tries;
            tx.exec("DO $$BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '" + sqlstate + "'; END$$");
        }),
                        Failure);
        return tries;
    };
    CHECK(tries_of("40001") == 5);
    CHECK(tries_of("40P01") == 5);
    CHECK(tries_of("23505") == 1);
    CHECK(tries_of("55P03") == 1);
    CHECK_FALSE(session.is_broken());
}

TEST_CASE("E27: a commit whose answer is lost is in doubt and doing it again moves the price once in both outcomes") {
    for (const auto cut : {Relay::Cut::kBefore, Relay::Cut::kAfter}) {
        const Database db(Content::kNothing);
        make_price_tables(db);
        Relay relay(ftl::test::port_of(db.uri()));
        const auto settings = ftl::test::settings_of(ftl::test::with_port(db.uri(), relay.port()));
        int calls = 0;
        {
            store::Session session(settings);
            relay.cut_at("COMMIT", cut);
            try {
                session.write_retrying([&](pqxx::transaction_base& tx) {
                    ++calls;
                    move_price(tx);
                });
                FAIL("it got an answer");
            } catch (const Failure& failure) {
                CHECK(failure.in_doubt());
                CHECK(failure.connection_lost());
            }
            CHECK(session.is_broken());
        }
        CHECK(calls == 1);  // Nobody repeated it blindly.
        relay.cut_nowhere();
        store::Session again(settings);
        again.write(move_price);
        CHECK(db.value("SELECT total FROM price") == "100");
        CHECK(db.value("SELECT count(*) FROM ledger") == "1");
    }
}

TEST_CASE("store.session: a lost answer leaves reading open but not in doubt and a plain statement in doubt") {
    const Database db(Content::kNothing);
    Relay relay(ftl::test::port_of(db.uri()));
    const auto settings = ftl::test::settings_of(ftl::test::with_port(db.uri(), relay.port()));
    store::Session reader(settings);
    store::Session plain(settings);
    relay.cut_at("COMMIT", Relay::Cut::kAfter);
    try {
        reader.read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); });
        FAIL("it got an answer");
    } catch (const Failure& failure) {
        CHECK(failure.kind() == Failure::Kind::kUnavailable);
        CHECK(failure.connection_lost());
    }
    relay.cut_at("pg_advisory_lock", Relay::Cut::kAfter);
    try {
        plain.without_transaction([](pqxx::transaction_base& tx) { tx.exec("SELECT pg_advisory_lock(7)"); });
        FAIL("it got an answer");
    } catch (const Failure& failure) {
        CHECK(failure.in_doubt());
        CHECK(failure.connection_lost());
    }
}
