#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <filesystem>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/migrator.hpp>
#include <functional>
#include <mutex>
#include <pqxx/connection>
#include <pqxx/nontransaction>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <set>
#include <thread>
#include <vector>

#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/process.hpp"
#include "support/session.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using ftl::test::connect;
using ftl::test::Database;

namespace {

std::int64_t unix_seconds(const Database& db) {
    return std::stoll(db.value("SELECT extract(epoch FROM clock_timestamp())::bigint"));
}

/// The row as it was before: what a restore of an older backup brings back.
void restore_row(const Database& db, std::int64_t system_identifier, std::int64_t epoch) {
    db.exec("UPDATE cluster_epoch SET system_identifier = " + std::to_string(system_identifier) +
            ", epoch = " + std::to_string(epoch));
}

void make_file_and_total(const Database& db) {
    db.exec(
        "INSERT INTO feed_document (doc_key, event, feed_type, body_gz, body_bytes, content_type, content_hash, "
        "body_hash, "
        "changed_at, last_modified, epoch, seq) VALUES ('wc/calendar', 'wc', 'calendar', '', 0, 'application/json', "
        "'', '', "
        "now(), now(), 3, 812)");
    db.exec(
        "SET session_replication_role = replica; "
        "INSERT INTO instrument_bump (instrument_id, seq, total, epoch) VALUES (7, 5, 300, 3)");
}

}  // namespace

TEST_CASE("store.epoch: the first look makes the epoch and the next ones find it") {
    const Database db;
    auto session = connect(db);
    const auto before = unix_seconds(db);
    const auto first = store::check_epoch(session);
    CHECK(first.moved);
    CHECK(first.epoch >= before);
    const auto second = store::check_epoch(session);
    CHECK_FALSE(second.moved);
    CHECK(second.epoch == first.epoch);
    CHECK(store::identify_cluster(session) == store::identify_cluster(session));
    CHECK(store::identify_cluster(session).timeline == 1);
}

TEST_CASE("store.epoch: at a move every file and total is stamped and its seq is kept") {
    const Database db;
    auto session = connect(db);
    static_cast<void>(store::check_epoch(session));
    make_file_and_total(db);
    const auto txid = db.value("SELECT txid FROM feed_document");
    restore_row(db, 1, 4);
    const auto moved = store::check_epoch(session);
    CHECK(moved.moved);
    const auto epoch = std::to_string(moved.epoch);
    CHECK(db.value("SELECT epoch || ' ' || seq FROM feed_document") == epoch + " 812");
    CHECK(db.value("SELECT epoch || ' ' || seq || ' ' || total FROM instrument_bump") == epoch + " 5 300");
    // Those who look for news by snapshot must see the file again.
    CHECK(db.value("SELECT txid FROM feed_document") != txid);
    CHECK(db.value("SELECT epoch FROM cluster_epoch") == epoch);
}

TEST_CASE("store.epoch: it never repeats - a restore to before a move grows beyond the epoch that was given out") {
    const Database db;
    auto session = connect(db);
    const auto first = store::check_epoch(session).epoch;
    restore_row(db, 1, first);
    const auto given_out = store::check_epoch(session).epoch;
    CHECK(given_out > first);
    // A counter alone would now say first + 1 again: the backup knows nothing of what was given out.
    restore_row(db, 2, first);
    REQUIRE(ftl::test::wait_until([&] { return unix_seconds(db) > given_out; }));
    CHECK(store::check_epoch(session).epoch > given_out);
}

TEST_CASE("store.epoch: a server's clock that lies behind moves the epoch on by one all the same") {
    const Database db;
    auto session = connect(db);
    static_cast<void>(store::check_epoch(session));
    restore_row(db, 1, 9'000'000'000);  // Far beyond today's seconds.
    CHECK(store::check_epoch(session).epoch == 9'000'000'001);
}

TEST_CASE("store.epoch: of many that look at once one moves it and all find the same") {
    const Database db;
    {
        auto session = connect(db);
        static_cast<void>(store::check_epoch(session));
    }
    restore_row(db, 1, 4);
    constexpr int kMovers = 6;
    std::barrier all_connected(kMovers);
    std::atomic<int> moved{0};
    std::mutex mutex;
    std::set<std::int64_t> epochs;
    {
        std::vector<std::jthread> movers;
        for (int i = 0; i < kMovers; ++i) {
            movers.emplace_back([&] {
                auto session = connect(db);
                all_connected.arrive_and_wait();
                const auto check = store::check_epoch(session);
                if (check.moved) ++moved;
                const std::lock_guard lock(mutex);
                epochs.insert(check.epoch);
            });
        }
    }
    CHECK(moved == 1);
    CHECK(epochs.size() == 1);
}

TEST_CASE("store.epoch: compare-and-set - a mover that was overtaken between look and move does not move it again") {
    const Database db;
    auto slow = connect(db);
    static_cast<void>(store::check_epoch(slow));
    restore_row(db, 1, 4);
    // The slow one has looked (system 1, epoch 4) and waits for the row; meanwhile another moves it.
    store::EpochCheck overtaken;
    std::jthread waiting;
    auto fast = connect(db);
    std::int64_t moved_to = 0;
    fast.write([&](pqxx::transaction_base& tx) {
        tx.exec("SELECT 1 FROM cluster_epoch FOR UPDATE");
        waiting = std::jthread([&] { overtaken = store::check_epoch(slow); });
        REQUIRE(ftl::test::wait_until([&] {
            return db.value("SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " +
                            std::to_string(slow.backend_pid())) != "0";
        }));
        const auto now = tx.exec(
            "UPDATE cluster_epoch SET system_identifier = (SELECT system_identifier FROM pg_control_system()), epoch = "
            "77 "
            "RETURNING epoch");
        moved_to = now[0][0].as<std::int64_t>();
    });
    waiting.join();
    CHECK_FALSE(overtaken.moved);
    CHECK(overtaken.epoch == moved_to);
    CHECK(db.value("SELECT epoch FROM cluster_epoch") == "77");
}

TEST_CASE("store.epoch: forcing it moves it on each time although the cluster is the same") {
    const Database db;
    auto session = connect(db);
    const auto first = store::check_epoch(session).epoch;
    const auto second = store::force_epoch(session);
    const auto third = store::force_epoch(session);
    CHECK(second > first);
    CHECK(third > second);
    CHECK(store::check_epoch(session).epoch == third);
    // Above what somebody was seen to hold.
    CHECK(store::force_epoch(session, third + 500) == third + 501);
    CHECK(store::force_epoch(session, third) == third + 502);
}

TEST_CASE("store.epoch: a standby is refused and its promotion moves the epoch on") {
    const ftl::test::TempFolder folder;
    const auto dir = (folder / "servers").string();
    const auto servers = [&](const std::vector<std::string>& words) {
        std::vector<std::string> command{(ftl::test::source_dir() / "tools" / "servers.sh").string()};
        command.insert(command.end(), words.begin(), words.end());
        const auto result = ftl::test::run_command(command);
        INFO(result.errors);
        REQUIRE(result.exit_code == 0);
    };
    std::filesystem::permissions(folder.path(), std::filesystem::perms::others_exec,
                                 std::filesystem::perm_options::add);
    servers({"start", dir});
    struct StopAtEnd {
        std::function<void()> stop;
        ~StopAtEnd() { stop(); }
    };
    const StopAtEnd stop_at_end{[&] { servers({"stop", dir}); }};
    const auto env = ftl::test::read_file(folder / "servers" / "servers.env");
    const auto begin = env.find("FTL_PG_URI=") + 11;
    const auto uri = env.substr(begin, env.find('\n', begin) - begin);

    store::EpochCheck before;
    {
        auto session = connect(uri);
        store::Migrator(session).up();
        before = store::check_epoch(session);
    }
    servers({"stop-postgres", dir});
    ftl::test::write_file(folder / "servers" / "postgres" / "standby.signal", "");
    servers({"start-postgres", dir});
    try {
        (void)connect(uri);
        FAIL("a server in recovery was taken");
    } catch (const core::Failure& failure) {
        CHECK(failure.may_retry());
        CHECK(std::string(failure.what()).find("in recovery") != std::string::npos);
    }
    {
        pqxx::connection standby(uri);
        pqxx::nontransaction tx(standby);
        CHECK(tx.exec("SELECT pg_promote()")[0][0].as<bool>());
    }
    auto session = connect(uri);
    CHECK(store::identify_cluster(session).timeline == 2);
    const auto after = store::check_epoch(session);
    CHECK(after.moved);
    CHECK(after.epoch > before.epoch);
}
