// Readers and servers that end at the worst moments.

#include <doctest/doctest.h>

#include <string>

#include "history.hpp"
#include "readers.hpp"
#include "scenarios.hpp"
#include "stress.hpp"
#include "support/cluster.hpp"
#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/process.hpp"
#include "support/rng.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;

namespace {

/// A reader process that stands in the middle of its first page: delivered, not committed.
Process holding_reader(const std::string& uri, const std::filesystem::path& log, const std::string& page_rows_max) {
    ProcessOptions options;
    options.log = log;
    Process process(
        {(binary_dir() / "tests/outbox_reader").string(), uri, "snapshot", "snapshot", page_rows_max, "hold"}, options);
    const bool holds = wait_until([&] { return read_file(log).find("holding") != std::string::npos; });
    if (!holds) throw std::runtime_error("the reader did not come to its first page: " + read_file(log));
    return process;
}

void commit_ten(const std::string& uri) {
    for (int i = 0; i < 10; ++i) commit_each(uri, {"r" + std::to_string(i)});
}

Verdict read_to_the_end(const std::string& uri) {
    drain(*snapshot_reader(uri, 4));
    return judge(uri, "snapshot");
}

void start_reading(const std::string& uri) {
    make_sink(uri);
    (void)snapshot_reader(uri);
}

}  // namespace

TEST_CASE("outbox.kill: a reader killed in mid-page has delivered nothing and the next one delivers each row once") {
    const Database db;
    start_reading(db.uri());
    commit_ten(db.uri());
    const TempFolder folder;
    auto reader = holding_reader(db.uri(), folder / "log", "4");
    reader.kill();
    const auto verdict = read_to_the_end(db.uri());
    CHECK(verdict.rows == 10);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.kill: Postgres stopped at once in mid-page and mid-window loses and repeats nothing") {
    Cluster cluster;
    const auto uri = cluster.make_database("feeds");
    start_reading(uri);
    Writer late(uri);
    late.touch("lost with its transaction");
    commit_ten(uri);
    CHECK(snapshot_reader(uri, 3)->read_page() == 3);  // The window stays open.
    const TempFolder folder;
    auto reader = holding_reader(uri, folder / "log", "3");
    cluster.stop_immediately();
    reader.kill();
    cluster.start();
    CHECK(run_sql(uri, "SELECT upto IS NOT NULL FROM outbox_cursor") == "t");
    commit_each(uri, {"after"});
    const auto verdict = read_to_the_end(uri);
    CHECK(verdict.rows == 11);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.kill: random writers with kills of readers and an immediate stop lose and repeat nothing") {
    FTL_RNG(rng);
    Cluster cluster;
    const auto uri = cluster.make_database("feeds");
    StressSettings settings;
    settings.seed = rng.seed();
    const auto result = run_stress(cluster, uri, settings);
    const auto& right = result.verdicts.at(Method::kSnapshot);
    MESSAGE("snapshot: ", right, "; id > last: ", result.verdicts.at(Method::kIdGreater), "; ", result.kills,
            " kills, ", result.stops, " immediate stops");
    CHECK(right.rows > 50);
    CHECK_MESSAGE(right.is_exact(), right);
    CHECK(result.kills >= 5);
    CHECK(result.stops == 1);
    // The same run fails the reader that is known to be wrong.
    CHECK(result.verdicts.at(Method::kIdGreater).skipped > 0);
}

TEST_SUITE("soak") {
    TEST_CASE("outbox.kill: many random faults across the 32-bit end of the xids loses and repeats nothing") {
        FTL_RNG(rng);
        Cluster cluster;
        const auto uri = cluster.make_database("feeds");
        for (const auto xid : {2'000'000'000U, 3'900'000'000U, 4'294'967'000U}) {
            cluster.set_next_xid(xid);
            cluster.freeze();
        }
        StressSettings settings;
        settings.seed = rng.seed();
        settings.length = std::chrono::seconds(45);
        settings.immediate_stops = 8;
        settings.slow_max = std::chrono::milliseconds(800);
        settings.methods = {Method::kSnapshot, Method::kIdGreater, Method::kXminHorizon};
        const auto result = run_stress(cluster, uri, settings);
        for (const auto& [method, verdict] : result.verdicts) MESSAGE(name_of(method), ": ", verdict);
        const auto& right = result.verdicts.at(Method::kSnapshot);
        CHECK(right.rows > 500);
        CHECK_MESSAGE(right.is_exact(), right);
        CHECK(result.verdicts.at(Method::kIdGreater).skipped > 0);
        CHECK(run_sql(uri,
                      "SELECT min(txid) < '4294967296' AND max(txid) > '4294967296' FROM outbox"
                      " WHERE record_kind = 'test'") == "t");
    }
}
