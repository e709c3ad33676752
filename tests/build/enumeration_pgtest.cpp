// Files are born and retired (design 7.3; finding C25).
#include <doctest/doctest.h>

#include <csignal>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string>
#include <vector>

#include <ftlfeed/build/marker.hpp>

#include "build/world.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using build::BuildResult;
using build::BuildStep;

namespace {

/// One file for each record of group g.
void define_each(const World& world) {
    world.define("each", "SELECT json_build_object('v', v) AS body, ARRAY['rec:' || id] AS deps FROM rec WHERE id = $2",
                 "SELECT id FROM rec WHERE grp = 'g' AND $1 = 'wc'");
}

/// A record comes or changes, and its collection is touched as design 6 wants it.
void set(const World& world, const std::string& id, const std::string& group, int v) {
    world.exec("INSERT INTO rec VALUES ('" + id + "', '" + group + "', " + std::to_string(v) +
               ") ON CONFLICT (id) DO UPDATE SET grp = excluded.grp, v = excluded.v; SELECT ftl_touch('rec', '" + id +
               "', 'wc')");
}

std::string living(const World& world) {
    return world.value(
        "SELECT coalesce(string_agg(doc_key, ' ' ORDER BY doc_key), '') FROM feed_document"
        " WHERE retired_at IS NULL");
}

std::string newest_version(const World& world, const std::string& doc_key) {
    return world.value("SELECT seq FROM feed_document WHERE doc_key = '" + doc_key + "'");
}

}  // namespace

TEST_CASE("build.births: a new member of the collection gets its file") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    world.settle();
    CHECK(living(world) == "wc/each/a");
    set(world, "b", "g", 2);
    set(world, "c", "other", 3);
    world.settle();
    CHECK(living(world) == "wc/each/a wc/each/b");
    CHECK(world.body("wc/each/b") == R"({"v" : 2})");
    // One that exists becomes a member: neither new nor removed, yet the file is born.
    set(world, "c", "g", 3);
    world.settle();
    CHECK(living(world) == "wc/each/a wc/each/b wc/each/c");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.births: an event that is added later gets every file of one per event") {
    const World world;
    world.define("one", "SELECT json_build_object('event', $1) AS body, ARRAY['event:' || $1] AS deps");
    world.settle();
    CHECK(living(world) == "wc/one");
    world.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('games', 'G', 'sportmonks', 2)");
    world.touch("event", "games");
    world.settle();
    CHECK(living(world) == "games/one wc/one");
    CHECK(world.body("games/one") == R"({"event" : "games"})");
}

TEST_CASE("build.births: a definition that is added later gets its files") {
    const World world;
    set(world, "a", "g", 1);
    world.settle();
    CHECK(living(world).empty());
    define_each(world);
    world.settle();
    CHECK(living(world) == "wc/each/a");
}

TEST_CASE("build.births: a touch after the enumeration's snapshot is not lost") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    world.settle();
    set(world, "x", "other", 1);
    world.read_outbox();
    REQUIRE(contains(world.dirty(), "wc/each/*"));
    // Whenever the new member comes and is read, from the claim to the commit: its file is born in the end.
    int born = 0;
    for (const auto step : {BuildStep::kClaimed, BuildStep::kSnapshot, BuildStep::kResolved}) {
        const auto id = "n" + std::to_string(born++);
        const auto outcome = world.build([&](BuildStep now, const std::string& doc_key) {
            if (now != step || doc_key != "wc/each/*") return;
            set(world, id, "g", 1);
            world.read_outbox();
        });
        CHECK(outcome.doc_key == "wc/each/*");
        CHECK(contains(world.dirty(), "wc/each/*"));
        world.settle();
        CHECK(world.body("wc/each/" + id) == R"({"v" : 1})");
        set(world, "x", "other", born);
        world.read_outbox();
    }
    world.settle();
    CHECK(world.dirty().empty());
}

TEST_CASE("build.births: an enumerator that is killed loses no birth") {
    const World world;
    define_each(world);
    world.settle();
    set(world, "a", "g", 1);
    world.read_outbox();
    for (const auto step : {BuildStep::kSnapshot, BuildStep::kWritten, BuildStep::kCommitted}) {
        CHECK(build_in_child(world, step).signal == SIGKILL);
        CHECK(contains(world.dirty(), "wc/each/*"));
        world.make_due();
    }
    world.settle();
    CHECK(living(world) == "wc/each/a");
    CHECK(world.versions("wc/each/a") == 1);
    CHECK(world.dirty().empty());
}

TEST_CASE("build.retired: a key that is no longer listed gets one last version") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    set(world, "b", "g", 1);
    world.settle();
    const auto before = newest_version(world, "wc/each/a");
    set(world, "a", "other", 1);
    const auto touched = world.value("SELECT max(created_at) FROM outbox");
    world.settle();
    CHECK(living(world) == "wc/each/b");
    CHECK(world.versions("wc/each/a") == 2);
    CHECK(newest_version(world, "wc/each/a") > before);
    CHECK(world.value("SELECT is_retired FROM feed_version WHERE doc_key = 'wc/each/a' ORDER BY seq DESC LIMIT 1") ==
          "t");
    CHECK(world.value("SELECT changed_at FROM feed_document WHERE doc_key = 'wc/each/a'") == touched);
    // Who keeps the file has the bytes of the version before.
    CHECK(world.body("wc/each/a") == R"({"v" : 1})");
    // It is over: nothing marks it, and no further version follows.
    CHECK(world.value("SELECT count(*) FROM feed_dependency WHERE doc_key = 'wc/each/a'") == "0");
    set(world, "a", "other", 5);
    world.settle();
    CHECK(world.versions("wc/each/a") == 2);
}

TEST_CASE("build.retired: a file that comes back has a higher version even with the same bytes") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    world.settle();
    set(world, "a", "other", 1);
    world.settle();
    const auto retired = std::stoll(newest_version(world, "wc/each/a"));
    set(world, "a", "g", 1);
    world.settle();
    CHECK(living(world) == "wc/each/a");
    CHECK(std::stoll(newest_version(world, "wc/each/a")) > retired);
    CHECK(world.value("SELECT retired_at FROM feed_document WHERE doc_key = 'wc/each/a'") == "NULL");
}

TEST_CASE("build.retired: a type that is switched off ends all its files and switched on it has them again") {
    const World world;
    define_each(world);
    world.define("one", "SELECT json_build_object('event', $1) AS body, ARRAY['event:' || $1] AS deps");
    set(world, "a", "g", 1);
    set(world, "b", "g", 1);
    world.settle();
    world.exec("UPDATE feed_definition SET is_on = false WHERE feed_type = 'each'");
    world.settle();
    CHECK(living(world) == "wc/one");
    set(world, "c", "g", 1);
    world.settle();
    CHECK(living(world) == "wc/one");
    world.exec("UPDATE feed_definition SET is_on = true WHERE feed_type = 'each'");
    world.settle();
    CHECK(living(world) == "wc/each/a wc/each/b wc/each/c wc/one");
}

TEST_CASE("build.retired: a definition that is deleted or an event that is gone ends the files") {
    const World world;
    define_each(world);
    world.define("one", "SELECT json_build_object('event', $1) AS body, ARRAY['event:' || $1] AS deps");
    set(world, "a", "g", 1);
    world.settle();
    world.exec("DELETE FROM feed_definition WHERE feed_type = 'each'");
    world.settle();
    CHECK(living(world) == "wc/one");
    world.exec("DELETE FROM event WHERE code = 'wc'");
    world.touch("event", "wc");
    world.settle();
    CHECK(living(world).empty());
    CHECK(world.dirty().empty());
}

TEST_CASE("build.retired: a file that leaves the list while it is built is retired by the next build") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    world.settle();
    set(world, "a", "g", 2);
    world.read_outbox();
    bool has_left = false;
    auto session = world.session();
    build::FeedBuilder builder(session, world.resolvers(), {}, [&](BuildStep step, const std::string& doc_key) {
        if (doc_key != "wc/each/a" || step != BuildStep::kResolved || has_left) return;
        has_left = true;
        set(world, "a", "other", 2);
        world.settle();
    });
    while (builder.build_next().result != BuildResult::kNothingDue) {
    }
    CHECK(has_left);
    world.settle();
    CHECK(living(world).empty());
    CHECK(world.dirty().empty());
}

TEST_CASE("build.births: a key that cannot be one is recorded and holds no other type") {
    const World world;
    world.define("bad", "SELECT '1' AS body, '{}'::text[] AS deps", "SELECT '../' || id FROM rec");
    define_each(world);
    set(world, "a", "g", 1);
    world.settle();
    CHECK(living(world) == "wc/each/a");
    CHECK(world.dirty() == std::vector<std::string>{"wc/bad/*"});
    CHECK(world.value("SELECT last_error LIKE '%''../a''%' AND failures = 1 FROM feed_dirty") == "t");
}

TEST_CASE("build.mark: files can be marked by hand and those that do not exist are passed over") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    set(world, "b", "g", 1);
    world.settle();
    auto session = world.session();
    std::size_t marked = 0;
    session.write([&](pqxx::transaction_base& tx) {
        marked = build::mark_files(tx, {{"wc", "each", "a"}, {"wc", "each", "nobody"}}, "rebuild");
    });
    CHECK(marked == 1);
    CHECK(world.dirty() == std::vector<std::string>{"wc/each/a"});
    CHECK(world.value("SELECT reason FROM feed_dirty") == "rebuild");
    session.write([&](pqxx::transaction_base& tx) { marked = build::mark_event(tx, "wc", "rebuild"); });
    CHECK(marked == 2);
    CHECK(world.dirty() == std::vector<std::string>{"wc/each/*", "wc/each/a", "wc/each/b"});
    world.settle();
    CHECK(world.dirty().empty());
    CHECK(world.versions("wc/each/a") == 1);
}

TEST_CASE("build.register: a cursor that is made late marks all that was there and a second time nothing") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    world.settle();
    auto session = world.session();
    CHECK_FALSE(build::register_marker(session));
    CHECK(world.dirty().empty());
    CHECK(outbox::unregister_consumer(session, build::kConsumer));
    // Nobody keeps a cursor meanwhile: these touches will not be read.
    set(world, "a", "g", 5);
    set(world, "b", "g", 6);
    CHECK(build::register_marker(session));
    CHECK(world.dirty() == std::vector<std::string>{"wc/each/*", "wc/each/a"});
    world.settle();
    CHECK(living(world) == "wc/each/a wc/each/b");
    CHECK(world.body("wc/each/a") == R"({"v" : 5})");
}

TEST_CASE("build.rebase: after a restore every file is built again and unchanged ones make no version") {
    const World world;
    define_each(world);
    set(world, "a", "g", 1);
    set(world, "b", "g", 1);
    world.settle();
    // What the cursor would never tell: the touch is gone with the old cluster.
    world.exec("UPDATE rec SET v = 2 WHERE id = 'a'; INSERT INTO rec VALUES ('c', 'g', 3)");
    auto session = world.session();
    CHECK(outbox::rebase(session) == 2);
    world.read_outbox();
    world.settle();
    CHECK(living(world) == "wc/each/a wc/each/b wc/each/c");
    CHECK(world.body("wc/each/a") == R"({"v" : 2})");
    CHECK(world.versions("wc/each/b") == 1);
    CHECK(world.dirty().empty());
}
