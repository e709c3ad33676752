// Lock, claim and write of one build (design 7.2, 7.3).
#include <doctest/doctest.h>

#include <csignal>
#include <new>
#include <pqxx/except>
#include <pqxx/notification>
#include <pqxx/result>
#include <pqxx/transaction>
#include <string>
#include <vector>

#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/epoch.hpp>

#include "build/world.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using build::BuildResult;
using build::BuildStep;

TEST_CASE("build.write: a busy file commits each of five builds while it is touched") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 100);
    for (int round = 1; round <= 5; ++round) {
        // The reader marks the file again while the build is under way: in one REPEATABLE READ transaction with the
        // resolver's snapshot the write would be refused each time.
        const auto outcome = world.build(at(BuildStep::kSnapshot, [&] { world.set_and_read("r1", "g", 100 + round); }));
        CHECK(outcome.result == BuildResult::kChanged);
        CHECK(world.body("wc/live") == "{ \"r1\" : " + std::to_string(100 + round - 1) + " }");
        CHECK(world.dirty() == std::vector<std::string>{"wc/live"});
    }
    CHECK(world.versions("wc/live") == 6);
}

TEST_CASE("build.claim: files that somebody marks by hand are built without a cursor of the outbox") {
    const World world;
    world.define_live();
    world.exec("DELETE FROM outbox_cursor");
    auto session = world.session();
    session.write([](pqxx::transaction_base& tx) { build::mark_event(tx, "wc", "by hand"); });
    build::FeedBuilder builder(session, world.resolvers());
    while (builder.build_next().result != BuildResult::kNothingDue) {
    }
    CHECK(world.body("wc/live") == R"({ "r1" : 1 })");
}

TEST_CASE("build.lock: two builders never build one file at once") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    auto other = world.session();
    build::FeedBuilder second(other, world.resolvers());
    BuildResult meanwhile = BuildResult::kFailed;
    std::size_t busy = 0;
    world.build(at(BuildStep::kSnapshot, [&] {
        world.set_and_read("r1", "g", 3);  // So that the file is due for the other one as well.
        meanwhile = second.build_next().result;
        busy = second.busy_files();
    }));
    CHECK(meanwhile == BuildResult::kNothingDue);
    CHECK(busy == 1);
    CHECK(second.build_next().result == BuildResult::kChanged);
    CHECK(world.body("wc/live") == R"({ "r1" : 3 })");
}

TEST_CASE("build.lock: another file is built while one is busy") {
    const World world;
    world.define_live();
    world.define("other", "SELECT json_build_object('v', max(v)) AS body, '{rec:r1}'::text[] AS deps FROM rec");
    world.read_outbox();
    world.settle();
    world.set_and_read("r1", "g", 2);
    auto session = world.session();
    build::FeedBuilder second(session, world.resolvers());
    std::string held;
    build::BuildOutcome meanwhile;
    world.build([&](BuildStep step, const std::string& doc_key) {
        if (step != BuildStep::kSnapshot || !held.empty()) return;
        held = doc_key;
        meanwhile = second.build_next();
    });
    CHECK(meanwhile.result == BuildResult::kChanged);
    CHECK(meanwhile.doc_key != held);
    CHECK(world.dirty().empty());
}

TEST_CASE("build.lock: no session keeps an advisory lock after a build however it ended") {
    const World world;
    world.define_live();
    world.define("broken", "SELECT (1 / (v - v))::text AS body, '{rec:r1}'::text[] AS deps FROM rec");
    world.read_outbox();
    auto session = world.session();
    build::FeedBuilder builder(session, world.resolvers());
    bool has_failed = false;
    for (auto outcome = builder.build_next(); outcome.result != BuildResult::kNothingDue;
         outcome = builder.build_next()) {
        has_failed = has_failed || outcome.result == BuildResult::kFailed;
        CHECK(advisory_locks(world) == 0);
    }
    CHECK(has_failed);
    // An exception that is none of ours passes through, and takes no lock with it.
    world.set_and_read("r1", "g", 2);
    build::FeedBuilder throwing(session, world.resolvers(), {},
                                at(BuildStep::kSnapshot, [] { throw std::bad_alloc(); }));
    CHECK_THROWS_AS(throwing.build_next(), std::bad_alloc);
    CHECK(advisory_locks(world) == 0);
    world.make_due();
    while (builder.build_next().result != BuildResult::kNothingDue) {
    }
    CHECK(world.body("wc/live") == R"({ "r1" : 2 })");
}

TEST_CASE("build.claim: it is committed before the snapshot and spares what the snapshot cannot see from trimming") {
    const World world;
    world.build_live();
    world.join_live("r2", 1);
    auto trimming = world.session();
    const auto left_by_trim = [&] {
        // The cursor moves past the touch, and beyond.
        world.exec("SELECT pg_current_xact_id()");
        world.exec("UPDATE outbox_cursor SET moved_at = moved_at - interval '1 hour'");
        world.read_outbox();
        outbox::trim(trimming);
        return world.value("SELECT count(*) FROM outbox WHERE record_id = 'r2'");
    };
    world.build(at(BuildStep::kWritten, [&] {
        world.set_and_read("r2", "g", 2);
        CHECK(left_by_trim() == "1");
    }));
    CHECK(world.dirty() == std::vector<std::string>{"wc/live"});
    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 1, "r2" : 2 })");
    // The claim has ended: now it may go.
    CHECK(left_by_trim() == "0");
}

TEST_CASE("build.claim: it is a lower bound of the snapshot that the build takes") {
    const World world;
    world.define_live();
    world.read_outbox();
    std::string claimed;
    // Seen by another session: it is committed.
    world.build(at(BuildStep::kClaimed,
                   [&] { claimed = world.value("SELECT claim_xmin FROM feed_dirty WHERE claim_xmin IS NOT NULL"); }));
    REQUIRE(!claimed.empty());
    world.set("r1", "g", 2);
    world.settle();
    world.set_and_read("r1", "g", 3);
    std::string bound;
    world.build(at(BuildStep::kSnapshot, [&] {
        bound = world.value("SELECT claim_xmin <= pg_snapshot_xmin(pg_current_snapshot()) FROM feed_dirty");
    }));
    CHECK(bound == "t");
}

TEST_CASE("build.claim: a dead builder's claim is replaced by the next one") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    CHECK(build_in_child(world, BuildStep::kClaimed).signal == SIGKILL);
    const auto dead = world.value("SELECT claimed_by FROM feed_dirty");
    CHECK(dead != "NULL");
    std::string now;
    world.build(at(BuildStep::kClaimed, [&] { now = world.value("SELECT claimed_by FROM feed_dirty"); }));
    CHECK(now != dead);
    CHECK(world.dirty().empty());
}

TEST_CASE("build.claim: a file whose builders keep dying waits longer each time") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    std::string before;
    for (int death = 1; death <= 5; ++death) {
        before = world.value("SELECT clock_timestamp()");
        CHECK(build_in_child(world, BuildStep::kSnapshot).signal == SIGKILL);
        // The fourth claim finds the third one abandoned: from there on the file waits, twice as long each time.
        const auto seconds = death < 4 ? 0 : death == 4 ? 5 : 10;
        CHECK(world.value("SELECT (not_before >= '" + before + "'::timestamptz + interval '" + std::to_string(seconds) +
                          " s') = " + (death < 4 ? "false" : "true") + " FROM feed_dirty") == "t");
        world.exec("UPDATE feed_dirty SET not_before = '2000-01-01'");
    }
    CHECK(world.build().result == BuildResult::kChanged);
    CHECK(world.dirty().empty());
}

TEST_CASE("build.epoch: a version that is written while the epoch moves ends with the new one") {
    const World world;
    world.define_live();
    world.read_outbox();
    auto mover = world.session();
    world.build(at(BuildStep::kResolved, [&] { (void)store::force_epoch(mover); }));
    world.settle();
    CHECK(world.value("SELECT epoch = (SELECT epoch FROM cluster_epoch) FROM feed_document") == "t");
    world.set_and_read("r1", "g", 2);
    world.build(at(BuildStep::kWritten, [&] {
        // The mover must wait for the version's commit, and then stamps it.
        auto waiting = world.database().connect();
        pqxx::work tx(waiting);
        tx.exec("SET LOCAL lock_timeout = 100");
        CHECK_THROWS_AS(tx.exec("UPDATE cluster_epoch SET epoch = epoch + 1"), pqxx::sql_error);
    }));
    CHECK(world.value("SELECT epoch = (SELECT epoch FROM cluster_epoch) FROM feed_document") == "t");
}

TEST_CASE("build.version: history keeps every version and the document the newest") {
    const World world;
    world.build_live();
    for (int v = 2; v <= 4; ++v) {
        world.set("r1", "g", v);
        world.settle();
    }
    CHECK(world.versions("wc/live") == 4);
    CHECK(
        world.value("SELECT d.seq = max(v.seq) AND d.content_hash = (array_agg(v.content_hash ORDER BY v.seq DESC))[1]"
                    " FROM feed_document d JOIN feed_version v USING (doc_key) GROUP BY d.doc_key") == "t");
    CHECK(world.value(
              "SELECT body_bytes = octet_length('{ \"r1\" : 4 }') AND content_hash = body_hash FROM feed_document") ==
          "t");
}

TEST_CASE("build.version: whoever listens is told by a constant payload") {
    const World world;
    world.define_live();
    world.read_outbox();
    auto listening = world.database().connect();
    struct Note : pqxx::notification_receiver {
        using pqxx::notification_receiver::notification_receiver;
        void operator()(const std::string& payload, int) override { payloads.push_back(payload); }
        std::vector<std::string> payloads;
    } note(listening, "ftl_document");
    world.settle();
    listening.await_notification(5, 0);
    CHECK(note.payloads == std::vector<std::string>{""});
}
