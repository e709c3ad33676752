// No touch is lost between the snapshot and the end of a build, whoever is killed meanwhile (design 7.4 and 7.6; findings
// C1 and C2).
#include <doctest/doctest.h>

#include <csignal>
#include <pqxx/result>
#include <pqxx/transaction>
#include <string>
#include <vector>

#include "build/world.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using build::BuildResult;
using build::BuildStep;

TEST_CASE("build.finish: a touch that was read before the new dependency rows were there keeps the file dirty") {
    const World world;
    world.build_live();
    REQUIRE(world.body("wc/live") == R"({ "r1" : 1 })");

    world.join_live("r2", 1);
    // The snapshot has r2 = 1. Before the build commits, r2 changes, and the reader finds no dependency row for it.
    const auto first = world.build(at(BuildStep::kWritten, [&] { world.set_and_read("r2", "g", 2); }));
    CHECK(first.result == BuildResult::kChanged);
    CHECK(world.body("wc/live") == R"({ "r1" : 1, "r2" : 1 })");
    CHECK(world.dirty() == std::vector<std::string>{"wc/live"});
    CHECK(world.value("SELECT claim_xmin FROM feed_dirty") == "NULL");

    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 1, "r2" : 2 })");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.finish: killed right after the commit it has lost no touch") {
    const World world;
    world.build_live();
    world.join_live("r2", 1);

    CHECK(build_in_child(world, BuildStep::kCommitted).signal == SIGKILL);
    CHECK(world.body("wc/live") == R"({ "r1" : 1, "r2" : 1 })");
    CHECK(world.dirty() == std::vector<std::string>{"wc/live"});

    const auto again = world.build();
    CHECK(again.result == BuildResult::kUnchanged);
    CHECK(world.dirty().empty());
    CHECK(world.versions("wc/live") == 2);
}

TEST_CASE("build.finish: a touch that is read while a killed build had not committed is built by the next one") {
    const World world;
    world.build_live();
    world.join_live("r2", 1);
    for (const auto step : {BuildStep::kClaimed, BuildStep::kSnapshot, BuildStep::kResolved, BuildStep::kWritten}) {
        CHECK(build_in_child(world, step).signal == SIGKILL);
        world.set_and_read("r2", "g", static_cast<int>(step) + 2);
        CHECK(world.body("wc/live") == R"({ "r1" : 1 })");
        world.make_due();
    }
    CHECK(build_in_child(world, kNever).exit_code == 0);
    CHECK(world.body("wc/live") == R"({ "r1" : 1, "r2" : 5 })");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.finish: the mark goes last so that a kill after it leaves nothing to do") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 7);
    CHECK(build_in_child(world, kAfterTheMark).signal == SIGKILL);
    CHECK(world.body("wc/live") == R"({ "r1" : 7 })");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.finish: a touch between the snapshot and the commit is not taken for built") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    // Known record, reader ahead of the build's end: the generation moves.
    const auto outcome = world.build(at(BuildStep::kResolved, [&] { world.set_and_read("r1", "g", 3); }));
    CHECK(outcome.result == BuildResult::kChanged);
    CHECK(world.body("wc/live") == R"({ "r1" : 2 })");
    CHECK(world.dirty() == std::vector<std::string>{"wc/live"});
    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 3 })");
}

TEST_CASE("build.finish: a touch that nobody has read yet keeps the file dirty as well") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    world.build(at(BuildStep::kResolved, [&] { world.set("r1", "g", 3); }));
    CHECK(world.dirty() == std::vector<std::string>{"wc/live"});
    // The build of the kept mark has seen it; the reader's mark afterwards costs one build without effect.
    CHECK(world.build().result == BuildResult::kChanged);
    CHECK(world.body("wc/live") == R"({ "r1" : 3 })");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.finish: a touch by a transaction that was open at the snapshot counts as unseen") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    auto late = world.database().connect();
    pqxx::work open(late);
    open.exec("UPDATE rec SET v = 9 WHERE id = 'r1'");
    open.exec("SELECT ftl_touch('rec', 'r1')");
    world.set("r3", "other", 1);  // A later transaction, so that the open one lies below the snapshot's xmax.
    world.build(at(BuildStep::kResolved, [&] {
        open.commit();
        world.read_outbox();
    }));
    CHECK(world.body("wc/live") == R"({ "r1" : 2 })");
    CHECK(world.dirty() == std::vector<std::string>{"wc/live"});
    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 9 })");
}

TEST_CASE("build.unchanged: equal content still replaces the dependency rows") {
    const World world;
    world.build_live();
    // m2 joins without showing: v is not above 0.
    world.join_live("m2", 0);
    CHECK(world.build().result == BuildResult::kUnchanged);
    CHECK(world.versions("wc/live") == 1);
    CHECK(world.value("SELECT count(*) FROM feed_dependency WHERE record_id = 'm2'") == "1");

    world.set("m2", "g", 3);
    world.settle();
    CHECK(world.body("wc/live") == R"({ "m2" : 3, "r1" : 1 })");

    // And it leaves again: its later touches find the file no more.
    world.exec("UPDATE rec SET grp = 'other', v = 0 WHERE id = 'm2'");
    world.touch("rec", "m2");
    world.settle();
    CHECK(world.value("SELECT count(*) FROM feed_dependency WHERE record_id = 'm2'") == "0");
    world.touch("rec", "m2");
    world.read_outbox();
    CHECK(world.dirty().empty());
}

TEST_CASE("build.unchanged: a touch without effect makes no version and draws no seq and moves no stamp") {
    const World world;
    world.build_live();
    const auto stamps = "SELECT seq || ' ' || changed_at || ' ' || last_modified FROM feed_document";
    const auto before = world.value(stamps);
    const auto seq = world.value("SELECT last_value FROM version_seq");
    const auto txid = world.value("SELECT txid FROM feed_document");
    for (int round = 0; round < 3; ++round) {
        world.touch("rec", "r1");
        world.read_outbox();
        CHECK(world.build().result == BuildResult::kUnchanged);
    }
    CHECK(world.value(stamps) == before);
    CHECK(world.value("SELECT last_value FROM version_seq") == seq);
    CHECK(world.value("SELECT txid FROM feed_document") == txid);
    CHECK(world.versions("wc/live") == 1);
}
