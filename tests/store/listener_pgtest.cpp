#include <doctest/doctest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <ftlfeed/store/listener.hpp>
#include <memory>

#include "support/pg.hpp"
#include "support/relay.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using ftl::test::Database;
using ftl::test::Relay;
using ftl::test::wait_until;
using std::chrono::milliseconds;

namespace {

constexpr store::Listener::Options kFast{milliseconds(100), milliseconds(20), milliseconds(100)};

struct Ears {
    std::atomic<int> wakes{0};
    store::WakeUp wake;
    std::unique_ptr<store::Listener> listener;

    Ears(const Database& db, const std::string& uri, const store::Listener::Options& options = kFast) {
        static_cast<void>(db);
        listener = std::make_unique<store::Listener>(
            ftl::test::settings_of(uri, "ears"), std::vector<std::string>{"ftl_outbox", "Odd \"name\""},
            [this] {
                ++wakes;
                wake.signal();
            },
            options);
    }
    /// Waits until it listens; returns how often it has called so far.
    int connected() {
        REQUIRE(wait_until([&] { return listener->is_connected() && wakes > 0; }));
        return wakes;
    }
};

std::string ears_pid(const Database& db) {
    return db.value(
        "SELECT max(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'ears'");
}

/// Seconds that this process has used so far.
double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto of = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace

TEST_CASE("store.listener: it calls once when it has connected and again for each notification") {
    const Database db;
    Ears ears(db, db.uri());
    int before = ears.connected();
    CHECK(before == 1);
    for (const char* sql :
         {"NOTIFY ftl_outbox", "NOTIFY \"Odd \"\"name\"\"\"", "SELECT ftl_touch('fixture', '1', 'wc')"}) {
        db.exec(sql);
        REQUIRE(wait_until([&] { return ears.wakes > before; }));
        before = ears.wakes;
    }
    db.exec("NOTIFY another");
    db.exec("NOTIFY ftl_outbox");
    REQUIRE(wait_until([&] { return ears.wakes > before; }));
    CHECK(ears.wakes == before + 1);
}

TEST_CASE("store.listener: a terminated backend makes it connect again and call for what it missed") {
    const Database db;
    Ears ears(db, db.uri());
    const int before = ears.connected();
    const auto pid = ears_pid(db);
    db.exec("SELECT pg_terminate_backend(" + pid + ")");
    REQUIRE(wait_until([&] { return ears.wakes > before && ears.listener->is_connected(); }));
    CHECK(ears_pid(db) != pid);
    const int again = ears.wakes;
    db.exec("NOTIFY ftl_outbox");
    CHECK(wait_until([&] { return ears.wakes > again; }));
}

TEST_CASE("store.listener: a backend that is stopped answers no ping and it connects again") {
    const Database db;
    Ears ears(db, db.uri());
    const int before = ears.connected();
    const auto pid = static_cast<pid_t>(std::stoi(ears_pid(db)));
    REQUIRE(kill(pid, SIGSTOP) == 0);
    const bool came_back = wait_until([&] { return ears.wakes > before && ears.listener->is_connected(); });
    kill(pid, SIGCONT);
    CHECK(came_back);
}

TEST_CASE("store.listener: pings alone wake nobody and keep the connection") {
    const Database db;
    Ears ears(db, db.uri(), {milliseconds(5), milliseconds(20), milliseconds(100)});
    const int before = ears.connected();
    const auto pid = ears_pid(db);
    // Some pings later, by the server's own account.
    const auto last_ping = [&] {
        return db.value(
            "SELECT query_start::text FROM pg_stat_activity WHERE datname = current_database() AND application_name = "
            "'ears' AND query = 'SELECT 1'");
    };
    auto seen = last_ping();
    for (int i = 0; i < 5; ++i) {
        REQUIRE(wait_until([&] { return last_ping() != seen; }));
        seen = last_ping();
    }
    if (ears_pid(db) == pid) CHECK(ears.wakes == before);
}

TEST_CASE("store.listener: its end does not wait for a silent server") {
    const Database db;
    Ears ears(db, db.uri(), {std::chrono::hours(1), milliseconds(20), milliseconds(100)});
    ears.connected();
    const auto pid = static_cast<pid_t>(std::stoi(ears_pid(db)));
    REQUIRE(kill(pid, SIGSTOP) == 0);
    const auto begin = core::Clock::real().steady_now();
    ears.listener.reset();
    CHECK(core::Clock::real().steady_now() - begin < std::chrono::seconds(5));
    kill(pid, SIGCONT);
}

TEST_CASE("store.listener: a server that comes up late is found") {
    const Database db;
    Relay relay(ftl::test::port_of(db.uri()));
    relay.drop_all(true);
    Ears ears(db, ftl::test::with_port(db.uri(), relay.port()));
    REQUIRE(wait_until([&] { return relay.accepted() >= 3; }));
    CHECK_FALSE(ears.listener->is_connected());
    CHECK(ears.wakes == 0);
    relay.allow();
    ears.connected();
}

TEST_CASE("E35: a dead LISTEN socket costs no busy loop") {
    const Database db;
    Relay relay(ftl::test::port_of(db.uri()));
    // As in production: first pause 200 ms.
    Ears ears(db, ftl::test::with_port(db.uri(), relay.port()), store::Listener::Options{});
    ears.connected();
    const int accepted = relay.accepted();
    relay.drop_all(true);
    const auto cpu = cpu_seconds();
    const auto begin = core::Clock::real().steady_now();
    // Waits without looking: it is our own looking that would cost.
    static_cast<void>(ears.wake.wait_for(milliseconds(0), {}));
    CHECK_FALSE(ears.wake.wait_for(milliseconds(1500), {}));
    const std::chrono::duration<double> took = core::Clock::real().steady_now() - begin;
    CHECK(relay.accepted() - accepted >= 1);
    CHECK(relay.accepted() - accepted <= 16);  // At most one in 100 ms.
    CHECK((cpu_seconds() - cpu) / took.count() < 0.05);
    CHECK_FALSE(ears.listener->is_connected());
}

TEST_CASE("E33: a record with a very long id is touched and announced for the payload is constant") {
    const Database db;
    Ears ears(db, db.uri());
    int before = ears.connected();
    for (const std::string& letter : {std::string("x"), std::string("ä")}) {
        std::string id;
        for (int i = 0; i < 9000; ++i) id += letter;
        db.exec("SELECT ftl_touch('player', '" + id + "', 'wc')");
        CHECK(wait_until([&] { return ears.wakes > before; }));
        before = ears.wakes;
        CHECK(db.value("SELECT count(*) FROM outbox WHERE record_id = '" + id + "'") == "1");
    }
}
