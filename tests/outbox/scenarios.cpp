#include "scenarios.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "outbox/sql.hpp"
#include "support/wait.hpp"

namespace ftl::test::outbox {

namespace {

/// A reader named after its method, with the table it delivers into.
struct Stage {
    Stage(const std::string& uri_in, Method method, std::size_t page_rows_max = 100)
        : uri(uri_in), consumer(name_of(method)) {
        make_sink(uri);
        ReaderOptions options;
        options.uri = uri;
        options.consumer = consumer;
        options.page_rows_max = page_rows_max;
        reader = make_reader(method, options);
    }

    [[nodiscard]] Verdict end() {
        drain(*reader);
        return judge(uri, consumer);
    }

    std::string uri;
    std::string consumer;
    std::unique_ptr<AnyReader> reader;
};

void wait_until_blocked(const std::string& uri) {
    const bool blocked = wait_until([&] {
        return run_sql(uri,
                       "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                       " AND wait_event_type = 'Lock'") == "1";
    });
    if (!blocked) throw std::runtime_error("nobody waits for the cursor");
}

}  // namespace

Verdict late_committer(const std::string& uri, Method method) {
    Stage stage(uri, method);
    Writer a(uri);
    a.touch("A");
    commit_each(uri, {"B"});
    drain(*stage.reader);
    a.commit();
    return stage.end();
}

Verdict hundred_savepoints(const std::string& uri, Method method) {
    Stage stage(uri, method);
    Writer a(uri);
    a.touch("top");
    for (int i = 0; i < 100; ++i) {
        const auto name = "s" + std::to_string(i);
        a.run("SAVEPOINT " + name).touch(name);
        if (i % 2 == 1) a.run("ROLLBACK TO " + name);
    }
    commit_each(uri, {"B"});
    drain(*stage.reader);
    a.commit();
    return stage.end();
}

Verdict prepared_transaction(const std::string& uri, Method method) {
    Stage stage(uri, method);
    const PreparedTouch prepared(uri, "P");
    commit_each(uri, {"B"});
    drain(*stage.reader);
    prepared.commit();
    return stage.end();
}

Verdict aborted_transactions(const std::string& uri, Method method) {
    Stage stage(uri, method);
    Writer first(uri);
    first.touch("X");
    commit_each(uri, {"A"});
    drain(*stage.reader);
    first.abort();
    Writer second(uri);
    second.touch("Y");
    commit_each(uri, {"B"});
    second.abort();
    commit_each(uri, {"C"});
    return stage.end();
}

Verdict commits_between_pages(const std::string& uri, Method method) {
    Stage stage(uri, method, 3);
    Writer late(uri);
    late.touch("late");
    Writer many(uri);
    for (const auto* id : {"a0", "a1", "a2", "a3", "a4", "a5", "a6"}) many.touch(id);
    many.commit();
    stage.reader->read_page();
    commit_each(uri, {"m0", "m1"});
    late.commit();
    return stage.end();
}

Verdict wait_for_the_cursor(const std::string& uri, Method method) {
    Stage stage(uri, method);
    commit_each(uri, {"X"});  // So that the reader goes for the lock.
    Writer other(uri);
    const auto cursor = " outbox_cursor WHERE consumer = '" + stage.consumer + "'";
    other.run("SELECT 1 FROM" + cursor + " FOR UPDATE");
    std::jthread waiting([&] { stage.reader->read_page(); });
    wait_until_blocked(uri);
    commit_each(uri, {"A"});
    other.run(
        "INSERT INTO sink (consumer, row_id, record_id) SELECT c.consumer, o.id, o.record_id FROM outbox o,"
        " outbox_cursor c WHERE c.consumer = '" +
        stage.consumer + "' AND NOT pg_visible_in_snapshot(o.txid, c.snap)");
    const auto snapshot = other.value(ftlfeed::outbox::sql::kOwnOpenSnapshot);
    other.run("UPDATE outbox_cursor SET snap = '" + snapshot + "' WHERE consumer = '" + stage.consumer + "'");
    other.commit();
    waiting.join();
    return stage.end();
}

std::size_t read_beside_open_transaction(const std::string& uri, const std::string& other_uri, Method method) {
    Stage stage(uri, method);
    Writer elsewhere(other_uri);
    elsewhere.run("SELECT pg_current_xact_id()");
    commit_each(uri, {"A"});
    const auto rows = drain(*stage.reader);
    elsewhere.abort();
    return rows;
}

Verdict many_small_transactions(const std::string& uri, Method method, int transactions) {
    Stage stage(uri, method, 3);
    constexpr int kOpen = 6;
    std::array<std::unique_ptr<pqxx::connection>, kOpen + 1> connections;
    for (auto& connection : connections) connection = std::make_unique<pqxx::connection>(uri);
    for (int done = 0; done < transactions; done += 2 * kOpen) {
        // Half of each batch stays open beside the other half and commits after the reader came by.
        std::vector<std::unique_ptr<pqxx::work>> open;
        for (int i = 0; i < kOpen; ++i) {
            open.push_back(std::make_unique<pqxx::work>(*connections[static_cast<std::size_t>(i)]));
            open.back()->exec("SELECT ftl_touch('test', 'open')");
            pqxx::work quick(*connections.back());
            quick.exec("SELECT ftl_touch('test', 'quick')");
            quick.commit();
        }
        stage.reader->read_page();
        for (auto& tx : open) tx->commit();
        if (done % (6 * kOpen) == 0) drain(*stage.reader);
    }
    return stage.end();
}

PreparedGuard::~PreparedGuard() {
    try {
        run_sql(uri_, "ROLLBACK PREPARED '" + gid_ + "'");
    } catch (const std::exception&) {
        // It was ended by the test, as it should be.
    }
}

std::string unique_gid() {
    static std::atomic<int> count{0};
    static const unsigned kSalt = std::random_device{}();
    return "g_" + std::to_string(getpid()) + "_" + std::to_string(kSalt) + "_" + std::to_string(++count);
}

PreparedTouch::PreparedTouch(std::string uri, const std::string& id)
    : uri_(std::move(uri)), guard_(uri_, unique_gid()) {
    Writer writer(uri_);
    // Postgres refuses PREPARE TRANSACTION after NOTIFY.
    writer.run("SET LOCAL ftl.notify = off").touch(id).prepare(gid());
}

void PreparedTouch::commit() const { run_sql(uri_, "COMMIT PREPARED '" + gid() + "'"); }

}  // namespace ftl::test::outbox
