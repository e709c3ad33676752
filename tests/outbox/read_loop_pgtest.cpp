#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/read_loop.hpp>
#include <future>
#include <pqxx/transaction_base>
#include <stdexcept>
#include <thread>

#include "history.hpp"
#include "scenarios.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
using std::chrono::milliseconds;

namespace {

constexpr const char* kApplication = "read_loop_test";

product::ReadLoop::Settings loop_settings(const Database& db, milliseconds poll_interval) {
    product::ReadLoop::Settings settings;
    settings.connection = settings_of(db, kApplication);
    settings.consumer = "build";
    settings.poll_interval = poll_interval;
    settings.retry_first = milliseconds(10);
    settings.retry_max = milliseconds(50);
    return settings;
}

void register_build(const Database& db) {
    auto session = connect(db);
    product::register_consumer(session, "build");
}

/// A loop that counts what it reads, on a thread of its own. Its end is in `ended`.
class Running {
public:
    Running(const Database& db, milliseconds poll_interval)
        : loop_(loop_settings(db, poll_interval),
                [this](pqxx::transaction_base&, std::span<const product::OutboxRow> rows) {
                    if (fails_) throw std::logic_error("the effect is broken");
                    read_ += static_cast<int>(rows.size());
                }) {
        loop_.on_page([this](std::size_t) { ++pages_; });
        loop_.on_failure([this](const ftlfeed::core::Failure&) { ++failures_; });
    }
    void start() {
        ended_ = std::async(std::launch::async, [this] { loop_.run(stop_.get_token()); });
    }
    ~Running() { stop_.request_stop(); }

    [[nodiscard]] bool has_read(int rows) const {
        return wait_until([&] { return read_ >= rows; });
    }
    [[nodiscard]] int failures() const { return failures_; }
    [[nodiscard]] int pages() const { return pages_; }
    void break_effect() { fails_ = true; }
    std::future<void>& ended() { return ended_; }
    void stop() { stop_.request_stop(); }

private:
    std::atomic<int> read_{0};
    std::atomic<int> pages_{0};
    std::atomic<int> failures_{0};
    std::atomic<bool> fails_{false};
    std::stop_source stop_;
    product::ReadLoop loop_;
    std::future<void> ended_;
};

constexpr milliseconds kNever{3'600'000};

bool listens(const Database& db) {
    return wait_until([&] {
        return db.value(std::string("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                                    " AND application_name = '") +
                        kApplication + "' AND query LIKE 'LISTEN%'") == "1";
    });
}

void break_connections(const Database& db) {
    db.exec(std::string("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
                        " AND application_name = '") +
            kApplication + "'");
}

}  // namespace

TEST_CASE("outbox.read_loop: what was committed before it listened is read without a notification") {
    const Database db;
    register_build(db);
    commit_each(db.uri(), {"A", "B"});
    Running running(db, kNever);
    running.start();
    CHECK(running.has_read(2));
    CHECK(wait_until([&] { return running.pages() >= 1; }));
}

TEST_CASE("outbox.read_loop: a touch wakes it by its notification") {
    const Database db;
    register_build(db);
    Running running(db, kNever);
    running.start();
    REQUIRE(listens(db));
    for (int i = 1; i <= 3; ++i) {
        commit_each(db.uri(), {"A"});
        CHECK(running.has_read(i));
    }
}

TEST_CASE("outbox.read_loop: the poll finds what was committed without a notification") {
    const Database db;
    register_build(db);
    Running running(db, milliseconds(20));
    running.start();
    REQUIRE(listens(db));
    const PreparedTouch quiet(db.uri(), "P");
    quiet.commit();
    CHECK(running.has_read(1));
}

TEST_CASE("outbox.read_loop: after a break it connects again and misses nothing") {
    const Database db;
    register_build(db);
    Running running(db, kNever);
    running.start();
    REQUIRE(listens(db));
    break_connections(db);
    commit_each(db.uri(), {"A"});
    CHECK(running.has_read(1));
    CHECK(running.failures() >= 1);
    CHECK(running.ended().wait_for(milliseconds(0)) == std::future_status::timeout);
}

TEST_CASE("outbox.read_loop: a cursor of another cluster ends it with the remedy in the message") {
    const Database db;
    register_build(db);
    db.exec("UPDATE outbox_cursor SET system_identifier = 1");
    Running running(db, kNever);
    running.start();
    REQUIRE(running.ended().wait_for(kWaitLimitDefault) == std::future_status::ready);
    CHECK_THROWS_WITH_AS(running.ended().get(), doctest::Contains("ftlctl outbox rebase"), ftlfeed::core::Failure);
}

TEST_CASE("outbox.read_loop: it looks at the cluster again at each connect and not only at the first") {
    const Database db;
    register_build(db);
    Running running(db, kNever);
    running.start();
    REQUIRE(listens(db));
    commit_each(db.uri(), {"A"});
    REQUIRE(running.has_read(1));
    // As where the name leads to a restored copy from now on.
    db.exec("UPDATE outbox_cursor SET system_identifier = 1");
    break_connections(db);
    REQUIRE(running.ended().wait_for(kWaitLimitDefault) == std::future_status::ready);
    CHECK_THROWS_WITH_AS(running.ended().get(), doctest::Contains("ftlctl outbox rebase"), ftlfeed::core::Failure);
}

TEST_CASE("outbox.read_loop: an effect that fails by itself ends it and leaves the cursor where it was") {
    const Database db;
    register_build(db);
    Running running(db, kNever);
    running.break_effect();
    const auto before = db.value("SELECT snap::text FROM outbox_cursor");
    commit_each(db.uri(), {"A"});
    running.start();
    REQUIRE(running.ended().wait_for(kWaitLimitDefault) == std::future_status::ready);
    CHECK_THROWS_AS(running.ended().get(), std::logic_error);
    CHECK(db.value("SELECT snap::text FROM outbox_cursor") == before);
}

TEST_CASE("outbox.read_loop: it ends soon when it is stopped") {
    const Database db;
    register_build(db);
    Running running(db, kNever);
    running.start();
    REQUIRE(listens(db));
    running.stop();
    CHECK(running.ended().wait_for(std::chrono::seconds(5)) == std::future_status::ready);
}
