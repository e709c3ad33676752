// changed_at, Last-Modified and the debounce (design 7.1 and 7.5).
#include <doctest/doctest.h>

#include <pqxx/result>
#include <pqxx/transaction>
#include <string>

#include "build/world.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using build::BuildResult;
using build::BuildStep;

namespace {

std::string newest_touch(const World& world, const std::string& id) {
    return world.value("SELECT max(created_at) FROM outbox WHERE record_id = '" + id + "'");
}

std::string changed_at(const World& world) {
    return world.value("SELECT changed_at FROM feed_document WHERE doc_key = 'wc/live'");
}

/// From here on the file `wc/live` has the ids in capitals.
void edit_definition(const World& world) {
    world.exec(
        "UPDATE feed_definition SET body_sql = replace(body_sql, 'id, v', 'upper(id), v') WHERE feed_type = 'live'");
}

}  // namespace

TEST_CASE("build.changed_at: it is the newest touch that led to the change and never now") {
    const World world;
    world.build_live();
    world.set("r1", "g", 2);
    world.exec("SELECT pg_sleep(0.01)");
    world.set_and_read("r1", "g", 3);
    world.exec("SELECT pg_sleep(0.01)");  // The build comes later than the touch.
    world.build();
    CHECK(changed_at(world) == newest_touch(world, "r1"));
}

TEST_CASE("build.changed_at: a touch that the build saw before the reader marked it counts") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    world.set("r1", "g", 3);
    world.build();  // Has seen 3; the reader has not.
    CHECK(world.body("wc/live") == R"({ "r1" : 3 })");
    CHECK(changed_at(world) == newest_touch(world, "r1"));
    // Nor does it depend on where the reader is when the version is written.
    world.set_and_read("r1", "g", 4);
    world.set("r1", "g", 5);
    world.build(at(BuildStep::kResolved, [&] { world.read_outbox(); }));
    CHECK(world.body("wc/live") == R"({ "r1" : 5 })");
    CHECK(changed_at(world) == newest_touch(world, "r1"));
}

TEST_CASE("build.changed_at: a touch after the snapshot does not count") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    const auto seen = newest_touch(world, "r1");
    world.build(at(BuildStep::kResolved, [&] { world.set_and_read("r1", "g", 3); }));
    CHECK(world.body("wc/live") == R"({ "r1" : 2 })");
    CHECK(changed_at(world) == seen);
}

TEST_CASE("build.changed_at: a touch that was read before its dependency row was there becomes the stamp") {
    const World world;
    world.build_live();
    world.join_live("r2", 1);
    world.build(at(BuildStep::kWritten, [&] { world.set_and_read("r2", "g", 2); }));
    world.build();
    CHECK(world.body("wc/live") == R"({ "r1" : 1, "r2" : 2 })");
    CHECK(changed_at(world) == newest_touch(world, "r2"));
}

TEST_CASE(
    "build.changed_at: a late committer's older touch does not set it back and Last-Modified grows in whole seconds") {
    const World world;
    world.build_live();
    auto late = world.database().connect();
    pqxx::work first(late);
    first.exec("UPDATE rec SET v = v WHERE id = 'none'");
    first.exec("SELECT ftl_touch('rec', 'r1')");  // Touches first, commits last.
    world.exec("SELECT pg_sleep(0.01)");
    world.set("r1", "g", 2);
    world.settle();
    const auto stamp = changed_at(world);
    const auto modified = world.value("SELECT last_modified FROM feed_document");
    first.exec("UPDATE rec SET v = 9 WHERE id = 'r1'");
    first.commit();
    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 9 })");
    CHECK(changed_at(world) == stamp);
    CHECK(world.value("SELECT last_modified >= '" + modified + "'::timestamptz + interval '1 s' FROM feed_document") ==
          "t");
    // Several versions within one second: each has its own whole second, not before its change.
    for (int v = 10; v < 14; ++v) {
        const auto before = world.value("SELECT last_modified FROM feed_document");
        world.set("r1", "g", v);
        world.settle();
        CHECK(world.value("SELECT last_modified > '" + before +
                          "' AND last_modified >= changed_at AND"
                          " date_trunc('second', last_modified) = last_modified FROM feed_document") == "t");
    }
}

TEST_CASE("build.changed_at: an edit of the definition is a touch") {
    const World world;
    world.build_live();
    edit_definition(world);
    const auto edited = newest_touch(world, "live");
    world.settle();
    CHECK(world.body("wc/live") == R"({ "R1" : 1 })");
    CHECK(changed_at(world) == edited);
}

TEST_CASE("build.changed_at: an edit of the definition during a build is not lost") {
    const World world;
    world.build_live();
    world.set_and_read("r1", "g", 2);
    world.build(at(BuildStep::kSnapshot, [&] { edit_definition(world); }));
    CHECK(world.body("wc/live") == R"({ "r1" : 2 })");
    world.settle();
    CHECK(world.body("wc/live") == R"({ "R1" : 2 })");
}

TEST_CASE("build.debounce: when a file is due") {
    const World world;
    struct Row {
        const char* what;
        int first_ms, last_ms, not_before_ms, quiet_ms, quiet_ms_max, at_ms, due_ms;
    };
    // Times in ms after an instant. `at` is when it is asked.
    constexpr Row kRows[] = {
        {"one touch waits for the quiet time", 0, 0, 0, 1000, 3000, 0, 1000},
        {"each touch begins the quiet time anew", 0, 700, 0, 1000, 3000, 700, 1700},
        {"at most quiet_ms_max after the first touch", 0, 2900, 0, 1000, 3000, 2900, 3000},
        {"both bounds fall together", 0, 2000, 0, 1000, 3000, 2000, 3000},
        {"one ms before that the quiet time decides", 0, 1999, 0, 1000, 3000, 1999, 2999},
        {"no quiet time is at once", 50, 70, 0, 0, 3000, 100, 70},
        {"no patience is at once", 50, 70, 0, 1000, 0, 100, 50},
        {"a back-off that is longer decides", 0, 0, 9000, 1000, 3000, 0, 9000},
        {"a back-off that is shorter does not", 0, 0, 500, 1000, 3000, 0, 1000},
        {"a touch from the future waits for nothing", 5000, 5000, 0, 1000, 3000, 4999, 4999},
        {"a first touch long ago and one from the future", 0, 5000, 0, 1000, 3000, 100, 100},
    };
    for (const auto& row : kRows) {
        INFO(row.what);
        const auto time = [](int ms) { return "to_timestamp(" + std::to_string(ms) + " / 1000.0)"; };
        CHECK(world.value("SELECT round(extract(epoch FROM ftl_due_at(" + time(row.first_ms) + ", " +
                          time(row.last_ms) + ", " + time(row.not_before_ms) + ", " + std::to_string(row.quiet_ms) +
                          ", " + std::to_string(row.quiet_ms_max) + ", " + time(row.at_ms) + ")) * 1000)") ==
              std::to_string(row.due_ms));
    }
}

TEST_CASE("build.debounce: the claim keeps to it") {
    const World world;
    world.define_live();
    world.exec("UPDATE feed_definition SET quiet_ms = 600000, quiet_ms_max = 1800000");
    world.read_outbox();
    world.make_due();
    world.settle();
    world.make_due();
    world.settle();
    world.set_and_read("r1", "g", 2);
    CHECK(world.build().result == BuildResult::kNothingDue);
    auto session = world.session();
    build::FeedBuilder builder(session, world.resolvers());
    CHECK(builder.build_next().result == BuildResult::kNothingDue);
    REQUIRE(builder.next_due_in().has_value());
    CHECK(*builder.next_due_in() <= std::chrono::milliseconds(600000));
    CHECK(*builder.next_due_in() > std::chrono::milliseconds(500000));
    // Quiet for ten minutes and a bit.
    world.exec(
        "UPDATE feed_dirty SET last_touch = last_touch - interval '601 s', first_touch = first_touch - interval '601 "
        "s'");
    CHECK(*builder.next_due_in() == std::chrono::milliseconds(0));
    CHECK(world.build().result == BuildResult::kChanged);
    CHECK(!builder.next_due_in().has_value());
    // Never quiet, but waiting for half an hour.
    world.set_and_read("r1", "g", 3);
    world.exec("UPDATE feed_dirty SET first_touch = first_touch - interval '1801 s'");
    CHECK(world.build().result == BuildResult::kChanged);
}

TEST_CASE("build.debounce: a file that was touched during its build waits from there on") {
    const World world;
    world.build_live();
    world.exec("UPDATE feed_definition SET quiet_ms = 600000, quiet_ms_max = 1800000");
    world.read_outbox();
    world.exec(
        "UPDATE feed_dirty SET last_touch = last_touch - interval '2 h', first_touch = first_touch - interval '2 h'");
    world.settle();
    world.set_and_read("r1", "g", 2);
    world.exec(
        "UPDATE feed_dirty SET last_touch = last_touch - interval '2 h', first_touch = first_touch - interval '3 h'");
    const auto outcome = world.build(at(BuildStep::kResolved, [&] { world.set_and_read("r1", "g", 3); }));
    CHECK(outcome.result == BuildResult::kChanged);
    REQUIRE(world.dirty() == std::vector<std::string>{"wc/live"});
    // What was built is no longer waiting: the first touch of three hours ago is over.
    CHECK(world.value("SELECT first_touch = last_touch AND first_touch > clock_timestamp() - interval '1 min'"
                      " FROM feed_dirty") == "t");
    CHECK(world.build().result == BuildResult::kNothingDue);
}
