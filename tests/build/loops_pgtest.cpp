// The loops that a binary runs, and everything at once.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <pqxx/result>
#include <pqxx/transaction>
#include <string>
#include <thread>
#include <vector>

#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/build/worker.hpp>
#include <ftlfeed/core/failure.hpp>

#include "build/world.hpp"
#include "support/rng.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using namespace ftl::test;

namespace {

/// A reader and builders on threads of their own, as in ftl-deliver. Stopped at the end.
class Loops {
public:
    Loops(const World& world, int builders, std::chrono::milliseconds poll_interval) {
        build::WorkerSettings settings;
        settings.connection = world.connection();
        settings.connection.application = kApplication;
        settings.poll_interval = poll_interval;
        mark_ = std::make_unique<build::MarkLoop>(settings, dirty_);
        mark_->on_failure([this](const core::Failure&) { ++failures_; });
        start([this](const std::stop_token& stop) { mark_->run(stop); });
        for (int n = 0; n < builders; ++n) {
            auto& loop = builds_.emplace_back(std::make_unique<build::BuildLoop>(settings, world.resolvers(), dirty_));
            loop->on_failure([this](const core::Failure&) { ++failures_; });
            start([&loop = *loop](const std::stop_token& stop) { loop.run(stop); });
        }
    }

    static constexpr const char* kApplication = "build loops";
    [[nodiscard]] int failures() const { return failures_; }

private:
    void start(std::function<void(const std::stop_token&)> run) {
        threads_.emplace_back([run = std::move(run)](const std::stop_token& stop) { run(stop); });
    }

    store::WakeUp dirty_;
    std::atomic<int> failures_{0};
    std::unique_ptr<build::MarkLoop> mark_;
    std::vector<std::unique_ptr<build::BuildLoop>> builds_;
    std::vector<std::jthread> threads_;  // Last: they end before what they use.
};

constexpr std::chrono::milliseconds kNoPoll = std::chrono::minutes(10);

void end_sessions(const World& world, const std::string& application) {
    world.exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND"
        " application_name LIKE '" +
        application + "%'");
}

}  // namespace

TEST_CASE("build.loops: a commit becomes a version by its notification alone") {
    const World world;
    world.build_live();
    const Loops loops(world, 1, kNoPoll);
    for (int v = 2; v <= 6; ++v) {
        world.set("r1", "g", v);
        REQUIRE(wait_until([&] { return world.body("wc/live") == "{ \"r1\" : " + std::to_string(v) + " }"; }));
    }
    REQUIRE(wait_until([&] { return world.dirty().empty(); }));
    CHECK(loops.failures() == 0);
}

TEST_CASE("build.loops: a debounced file is built when it is due without a further signal") {
    const World world;
    world.define_live();
    world.exec("UPDATE feed_definition SET quiet_ms = 200, quiet_ms_max = 60000");
    // The edit is a touch too: one that still waited would count as the first touch of what follows.
    REQUIRE(wait_until([&] { return world.settle().empty() && world.dirty().empty(); }));
    const Loops loops(world, 1, kNoPoll);
    world.set("r1", "g", 2);
    REQUIRE(wait_until([&] { return world.body("wc/live") == R"({ "r1" : 2 })"; }));
    // Not before it was quiet: the version is younger than the touch by the quiet time at least.
    CHECK(world.value("SELECT built_at - changed_at >= interval '200 ms' FROM feed_document") == "t");
}

TEST_CASE("build.loops: several builders share the files") {
    const World world;
    world.define("each", "SELECT json_build_object('v', v) AS body, ARRAY['rec:' || id] AS deps FROM rec WHERE id = $2",
                 "SELECT id FROM rec WHERE grp = 'g'");
    world.exec(
        "INSERT INTO rec SELECT 'n' || n, 'g', n FROM generate_series(1, 60) n; SELECT ftl_touch('event', 'wc')");
    const Loops loops(world, 3, kNoPoll);
    REQUIRE(wait_until([&] { return world.value("SELECT count(*) FROM feed_document") == "60"; }));
    REQUIRE(wait_until([&] { return world.dirty().empty(); }));
    CHECK(world.value("SELECT count(*) FROM feed_version") == "60");
}

TEST_CASE("build.loops: sessions that the server ends are made anew and nothing is lost") {
    const World world;
    world.build_live();
    const Loops loops(world, 2, std::chrono::milliseconds(100));
    for (int v = 2; v <= 5; ++v) {
        end_sessions(world, Loops::kApplication);
        world.set("r1", "g", v);
        REQUIRE(wait_until([&] { return world.body("wc/live") == "{ \"r1\" : " + std::to_string(v) + " }"; }));
    }
    CHECK(loops.failures() > 0);
    REQUIRE(wait_until([&] { return world.dirty().empty(); }));
}

TEST_CASE("build.mark: readers that mark the same files in any order do not block each other for good") {
    const World world;
    world.define("each", "SELECT json_build_object('v', v) AS body, ARRAY['rec:' || id] AS deps FROM rec WHERE id = $2",
                 "SELECT id FROM rec WHERE grp = 'g'");
    world.exec(
        "INSERT INTO rec SELECT 'n' || n, 'g', n FROM generate_series(1, 20) n; SELECT ftl_touch('event', 'wc')");
    world.settle();
    std::atomic<int> failures{0};
    const auto mark_often = [&](bool backwards) {
        auto session = world.session();
        std::vector<outbox::OutboxRow> rows;
        for (int n = 1; n <= 20; ++n)
            rows.push_back({n, {"rec", "n" + std::to_string(backwards ? 21 - n : n), ""}, {}});
        for (int round = 0; round < 50; ++round) {
            try {
                session.write([&](pqxx::transaction_base& tx) { build::mark(tx, rows); });
            } catch (const core::Failure&) {
                ++failures;
            }
        }
    };
    {
        const std::jthread one([&] { mark_often(false); });
        const std::jthread other([&] { mark_often(true); });
    }
    CHECK(failures == 0);
    CHECK(world.dirty().size() == 20);
    CHECK(world.value("SELECT min(gen) = 100 AND max(gen) = 100 FROM feed_dirty") == "t");
}

TEST_CASE("build.storm: with writers and late commits and killed sessions every file ends as the truth") {
    FTL_RNG(rng);
    const World world;
    // Files by group: a record that moves changes two of them, and only one has it as a dependency before.
    world.define("group",
                 "SELECT coalesce(json_object_agg(id, v ORDER BY id) FILTER (WHERE v % 3 > 0), '{}') AS body,"
                 " coalesce(array_agg('rec:' || id), '{}') || ('group:' || $2) AS deps FROM rec WHERE grp = $2",
                 "SELECT DISTINCT grp FROM rec");
    world.exec("INSERT INTO rec VALUES ('r0', 'g0', 1), ('r1', 'g1', 1); SELECT ftl_touch('event', 'wc')");
    std::atomic<bool> is_over{false};
    const auto write_often = [&](std::uint64_t seed) {
        Rng own(seed);
        auto connection = world.database().connect();
        for (int n = 0; n < rounds(120, 2000); ++n) {
            const auto id = "r" + std::to_string(own.between(0, 9));
            const auto group = "g" + std::to_string(own.between(0, 3));
            pqxx::work tx(connection);
            // The touches come first: they are old when the commit comes. A move touches the group that gains the record.
            tx.exec("SELECT ftl_touch('rec', '" + id + "', 'wc'), ftl_touch('group', '" + group + "', 'wc')");
            tx.exec("INSERT INTO rec VALUES ('" + id + "', '" + group + "', " + std::to_string(own.between(0, 99)) +
                    ") ON CONFLICT (id) DO UPDATE SET grp = excluded.grp, v = excluded.v");
            if (own.chance(0.1)) {
                tx.abort();
            } else {
                tx.commit();
            }
        }
    };
    {
        const Loops loops(world, 2, std::chrono::milliseconds(50));
        std::vector<std::jthread> writers;
        for (std::uint64_t n = 0; n < 2; ++n) writers.emplace_back([&, n] { write_often(rng.seed() + n); });
        const std::jthread killer([&] {
            while (!is_over) {
                end_sessions(world, Loops::kApplication);
                (void)wait_until([&] { return is_over.load(); }, std::chrono::milliseconds(150));
            }
        });
        writers.clear();
        is_over = true;
    }
    world.make_due();
    world.read_outbox();
    world.settle();
    CHECK(world.dirty().empty());
    const auto groups = world.exec("SELECT DISTINCT grp FROM rec ORDER BY grp");
    CHECK(world.value("SELECT count(*) FROM feed_document WHERE retired_at IS NULL") == std::to_string(groups.size()));
    for (const auto& row : groups) {
        const auto group = row[0].as<std::string>();
        INFO(group);
        CHECK(world.body("wc/group/" + group) ==
              world.value("SELECT coalesce(json_object_agg(id, v ORDER BY id) FILTER (WHERE v % 3 > 0), '{}') FROM rec"
                          " WHERE grp = '" +
                          group + "'"));
    }
    // Versions of one file never go back.
    CHECK(
        world.value("SELECT count(*) FROM (SELECT changed_at < lag(changed_at) OVER (PARTITION BY doc_key ORDER BY seq)"
                    " AS is_back FROM feed_version) v WHERE is_back") == "0");
}
