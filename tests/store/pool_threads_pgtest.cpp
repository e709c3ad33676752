#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/store/pool.hpp>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <thread>
#include <vector>

#include "support/pg.hpp"
#include "support/session.hpp"

using namespace ftlfeed;

TEST_CASE("store.pool: eight threads on three sessions never hold one together") {
    const ftl::test::Database db(ftl::test::Content::kNothing);
    store::Pool pool(settings_of(db), 3);
    std::atomic<int> holders{0};
    std::atomic<int> most{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                for (int round = 0; round < 10; ++round) {
                    const auto loan = pool.borrow(std::chrono::seconds(60));
                    const int now = ++holders;
                    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
                    }
                    loan->read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); });
                    --holders;
                }
            });
        }
    }
    CHECK(holders == 0);
    CHECK(most <= 3);
    CHECK(most >= 1);
}
