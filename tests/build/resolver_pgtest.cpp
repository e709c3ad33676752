// The SQL resolver, its fences, and resolvers in C++ (design 7.3; finding C27).
#include <doctest/doctest.h>

#include <memory>
#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string>

#include <ftlfeed/build/check_definition.hpp>
#include <ftlfeed/core/failure.hpp>

#include "build/world.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using build::BuildResult;

namespace {

constexpr const char* kDeps = " AS body, '{rec:r1}'::text[] AS deps";

/// Defines the file `wc/tried`, builds it once and returns what was recorded as its failure; "" when it was built.
std::string failure_of(const World& world, const std::string& body_sql) {
    world.exec("DELETE FROM feed_definition; DELETE FROM feed_dirty; DELETE FROM feed_document; DELETE FROM feed_key");
    world.define("tried", body_sql);
    world.settle();
    const auto error = world.value("SELECT coalesce(last_error, '') FROM feed_dirty WHERE doc_key = 'wc/tried'");
    CHECK((error.empty() ? 1 : 0) == std::stoi(world.value("SELECT count(*) FROM feed_document")));
    return error;
}

bool says(const std::string& error, const std::string& words) {
    if (error.find(words) != std::string::npos) return true;
    MESSAGE("the error is: ", error);
    return false;
}

build::FeedDefinition definition(const std::string& body_sql, const std::string& keys_sql = "") {
    build::FeedDefinition made;
    made.feed_type = "tried";
    made.body_sql = body_sql;
    made.keys_sql = keys_sql;
    return made;
}

/// What check_definition says against it; "" when it accepts.
std::string refusal(const World& world, const build::FeedDefinition& tried) {
    auto session = world.session();
    try {
        (void)build::check_definition(session, *world.resolvers(), tried, "wc");
        return "";
    } catch (const core::InvalidInput& error) {
        return error.what();
    }
}

}  // namespace

TEST_CASE("build.fence: a SELECT that releases the build's lock is refused by its role") {
    const World world;
    world.define_live();
    CHECK(says(failure_of(world, std::string("SELECT pg_advisory_unlock_all()::text || '1'") + kDeps),
               "permission denied for function pg_advisory_unlock_all"));
    CHECK(says(failure_of(world, std::string("SELECT pg_try_advisory_lock(1)::text") + kDeps), "permission denied"));
    CHECK(says(failure_of(world, std::string("SELECT set_config('role', 'none', true)") + kDeps), "permission denied"));
}

TEST_CASE("build.fence: a build whose lock was released all the same is rolled back") {
    const World world;
    world.define_live();
    // As where the migration was not run by a superuser.
    world.exec("GRANT EXECUTE ON FUNCTION pg_advisory_unlock_all() TO PUBLIC");
    const auto select =
        std::string(
            "SELECT json_build_object('v', (SELECT v FROM rec WHERE id = 'r1'), 'u', pg_advisory_unlock_all()::text)") +
        kDeps;
    CHECK(says(failure_of(world, select), "lost the file's lock"));
    CHECK(world.value("SELECT count(*) FROM feed_version") == "0");
    // Also where nothing would be written: the mark stays.
    world.exec("UPDATE feed_definition SET body_sql = '{}'");
    CHECK(says(failure_of(world, "SELECT '1'" + std::string(kDeps)), ""));
    world.exec("UPDATE feed_definition SET body_sql = $$SELECT '1' || left(pg_advisory_unlock_all()::text, 0)" +
               std::string(kDeps) + "$$");
    world.settle();
    CHECK(world.versions("wc/tried") == 1);
    CHECK(says(world.value("SELECT last_error FROM feed_dirty"), "lost the file's lock"));
}

TEST_CASE("build.fence: a definition can read the data and nothing else") {
    const World world;
    world.define_live();
    for (const char* table : {"public.delivery_credential", "public.outbox", "public.feed_document", "public.rec",
                              "pg_catalog.pg_authid"}) {
        INFO(table);
        CHECK(says(failure_of(world, std::string("SELECT (SELECT count(*) FROM ") + table + ")::text" + kDeps),
                   "permission denied"));
    }
    CHECK(failure_of(world, std::string("SELECT (SELECT count(*) FROM rec)::text") + kDeps).empty());
}

TEST_CASE("build.fence: a definition is one SELECT") {
    const World world;
    world.define_live();
    const auto select = std::string("SELECT '1'") + kDeps;
    CHECK(says(failure_of(world, select + "; DELETE FROM rec"), "syntax error"));
    CHECK(says(failure_of(world, select + ") AS q; RESET ROLE; SELECT q.* FROM (" + select), "multiple commands"));
    CHECK(says(failure_of(world, "WITH d AS (DELETE FROM rec RETURNING 1) " + select), "WITH clause"));
    CHECK(says(failure_of(world, "RESET ROLE"), "syntax error"));
    CHECK(says(failure_of(world, "DO $$ BEGIN RESET ROLE; END $$"), "syntax error"));
    // What people write all the same is taken.
    CHECK(failure_of(world, select + "; \n").empty());
    CHECK(failure_of(world, select + " -- done").empty());
    CHECK(world.value("SELECT count(*) FROM rec") == "1");
}

TEST_CASE("build.fence: a SELECT that writes or locks fails alone and the builder goes on") {
    const World world;
    world.define_live();
    world.exec("GRANT UPDATE, SELECT ON rec TO ftl_feed_reader");
    CHECK(says(failure_of(world, std::string("SELECT (SELECT v FROM public.rec LIMIT 1 FOR UPDATE)::text") + kDeps),
               "writes or locks rows"));
    world.exec(
        "CREATE FUNCTION feed_data.put() RETURNS text LANGUAGE sql SECURITY DEFINER AS"
        " $$ INSERT INTO public.rec VALUES ('x', 'g', 1) RETURNING id $$");
    CHECK(says(failure_of(world, std::string("SELECT feed_data.put()") + kDeps), "writes or locks rows"));
}

TEST_CASE("build.sql: a SELECT that takes too long is ended") {
    const World world;
    world.define_live();
    world.define("slow", std::string("SELECT pg_sleep(60)::text") + kDeps);
    world.read_outbox();
    build::ResolverLimits limits;
    limits.statement_timeout = std::chrono::milliseconds(50);
    auto session = world.session();
    build::FeedBuilder builder(session, std::make_shared<build::ResolverRegistry>(limits));
    while (builder.build_next().result != BuildResult::kNothingDue) {
    }
    CHECK(says(world.value("SELECT last_error FROM feed_dirty WHERE doc_key = 'wc/slow'"), "statement timeout"));
    CHECK(world.body("wc/live") == R"({ "r1" : 1 })");
}

TEST_CASE("build.sql: what a definition must give") {
    const World world;
    world.define_live();
    CHECK(says(failure_of(world, std::string("SELECT '1'") + kDeps + " WHERE false"), "gave 0 rows"));
    CHECK(says(failure_of(world, std::string("SELECT '1'") + kDeps + " FROM generate_series(1, 2)"), "gave 2 rows"));
    CHECK(says(failure_of(world, std::string("SELECT NULL::text") + kDeps), "no body"));
    CHECK(says(failure_of(world, "SELECT '1' AS body, NULL::text[] AS deps"), "no deps"));
    CHECK(says(failure_of(world, "SELECT '1' AS body, '{r1}'::text[] AS deps"), "not KIND:ID"));
    CHECK(says(failure_of(world, "SELECT '1' AS body"), "deps does not exist"));
    CHECK(says(failure_of(world, "SELEC"), "syntax error"));
    CHECK(failure_of(world, "SELECT '1' AS body, '{}'::text[] AS deps").empty());
    CHECK(failure_of(world, "SELECT '1' AS body, '{a:b:c}'::text[] AS deps").empty());
    CHECK(world.value("SELECT record_id FROM feed_dependency WHERE record_kind = 'a'") == "b:c");
}

TEST_CASE("build.sql: a body larger than allowed is refused") {
    const World world;
    world.define_live();
    world.define("large", std::string("SELECT repeat('x', 2000)") + kDeps);
    world.read_outbox();
    build::ResolverLimits limits;
    limits.body_bytes_max = 1999;
    auto session = world.session();
    build::FeedBuilder builder(session, std::make_shared<build::ResolverRegistry>(limits));
    while (builder.build_next().result != BuildResult::kNothingDue) {
    }
    CHECK(says(world.value("SELECT last_error FROM feed_dirty WHERE doc_key = 'wc/large'"), "1999 are allowed"));
}

TEST_CASE("build.sql: the bytes do not depend on the settings of database or role") {
    const World world;
    world.define_live();
    const auto select =
        std::string(
            "SELECT json_build_object('t', '2026-06-11T19:00:00Z'::timestamptz, 'd', '2026-06-11'::date::text,"
            " 'f', 0.1::float8 + 0.2, 'i', interval '90 min', 'b', '\\x01'::bytea, 'n', count(*))") +
        kDeps + " FROM rec";
    CHECK(failure_of(world, select).empty());
    const auto before = world.body("wc/tried");
    const auto name = world.database().name();
    for (const char* setting : {"TimeZone = 'Asia/Tokyo'", "DateStyle = 'German'", "extra_float_digits = -15",
                                "IntervalStyle = 'iso_8601'", "bytea_output = 'escape'", "search_path = 'public'"}) {
        world.exec("ALTER DATABASE " + name + " SET " + setting);
    }
    world.touch("rec", "r1");
    world.settle();
    CHECK(world.body("wc/tried") == before);
    CHECK(world.versions("wc/tried") == 1);
}

TEST_CASE("build.failure: a file that fails backs off and holds no other") {
    const World world;
    world.define_live();
    world.define("broken", "SELECT (1 / (v - 1))::text AS body, '{rec:r1}'::text[] AS deps FROM rec WHERE id = 'r1'");
    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 1 })");
    CHECK(world.dirty() == std::vector<std::string>{"wc/broken"});
    CHECK(world.value("SELECT failures = 1 AND not_before > clock_timestamp() AND claim_xmin IS NULL AND"
                      " last_error LIKE '%division by zero%' FROM feed_dirty") == "t");
    CHECK(world.build().result == BuildResult::kNothingDue);
    // A further touch does not cut the wait short.
    world.touch("rec", "r1");
    world.read_outbox();
    CHECK(contains(world.dirty(), "wc/live"));
    CHECK(world.settle().size() == 1);
    // It waits longer each time, and at the third failure somebody is told, once.
    for (int failures = 2; failures <= 4; ++failures) {
        world.make_due();
        CHECK(world.build().result == BuildResult::kFailed);
        CHECK(world.value("SELECT failures FROM feed_dirty") == std::to_string(failures));
        CHECK(world.value("SELECT count(*) FROM alert WHERE kind = 'build.failing' AND subject = 'wc/broken'") ==
              (failures >= 3 ? "1" : "0"));
    }
    CHECK(world.value("SELECT not_before > clock_timestamp() + interval '39 min' FROM feed_dirty") == "t");
    // The data is cured: built, and the alert has ended.
    world.exec("UPDATE rec SET v = 2 WHERE id = 'r1'");
    world.make_due();
    CHECK(world.build().result == BuildResult::kChanged);
    CHECK(world.value("SELECT count(*) FROM alert WHERE cleared_at IS NULL") == "0");
}

TEST_CASE("build.failure: an edited definition waits for no back-off") {
    const World world;
    world.define_live();
    world.define("broken", std::string("SELECT nonsense") + kDeps);
    world.settle();
    for (int round = 0; round < 5; ++round) {
        world.make_due();
        world.build();
    }
    CHECK(world.build().result == BuildResult::kNothingDue);
    world.exec("UPDATE feed_definition SET body_sql = $$SELECT '1'" + std::string(kDeps) +
               "$$ WHERE feed_type = 'broken'");
    world.settle();
    CHECK(world.body("wc/broken") == "1");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.check: a definition that gives other bytes each time is refused") {
    const World world;
    world.define_live();
    CHECK(says(refusal(world, definition(std::string("SELECT json_build_object('at', clock_timestamp())") + kDeps)),
               "differs"));
    CHECK(says(refusal(world, definition(std::string("SELECT json_build_object('at', now())") + kDeps)), "differs"));
    CHECK(says(refusal(world, definition(std::string("SELECT json_build_object('r', random())") + kDeps)), "differs"));
    auto with_time = definition(std::string("SELECT json_build_object('made', now(), 'v', 1)") + kDeps);
    with_time.volatile_pointers = {"/made"};
    CHECK(refusal(world, with_time).empty());
    // An array without ORDER BY: another plan shows it.
    world.exec("INSERT INTO rec SELECT md5(n::text), 'g', n FROM generate_series(1, 500) n; ANALYZE rec");
    CHECK(says(refusal(world, definition(std::string("SELECT json_agg(id)") + kDeps + " FROM rec WHERE id > ''")),
               "differs"));
    CHECK(refusal(world, definition(std::string("SELECT json_agg(id ORDER BY id)") + kDeps + " FROM rec WHERE id > ''"))
              .empty());
}

TEST_CASE("build.check: a definition is told what is wrong with it and stores nothing") {
    const World world;
    world.build_live();
    CHECK(says(refusal(world, definition("SELECT nonsense")), "nonsense"));
    CHECK(says(refusal(world, definition(std::string("SELECT '{'") + kDeps)), "no JSON"));
    CHECK(says(refusal(world, definition(std::string("SELECT '1'") + kDeps, "SELECT 'Not a key'")), "Not a key"));
    auto session = world.session();
    const auto report =
        build::check_definition(session, *world.resolvers(),
                                definition("SELECT json_build_object('id', $2) AS body, ARRAY['rec:' || $2] AS deps",
                                           "SELECT unnest('{b,a}'::text[])"),
                                "wc");
    CHECK(report.filters == std::vector<std::string>{"a", "b"});
    CHECK(report.filter == "a");
    CHECK(report.sample.body == R"({"id" : "a"})");
    CHECK(report.sample.dependencies == std::vector<core::RecordRef>{{"rec", "a", ""}});
    CHECK(world.value("SELECT count(*) FROM feed_document") == "1");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.resolver: one in C++ is found by its name") {
    struct Doubled final : build::Resolver {
        build::Resolved resolve(pqxx::transaction_base& tx, const core::FeedKey& key,
                                const build::FeedDefinition& /*definition*/) const override {
            const auto sum = tx.exec("SELECT 2 * sum(v) FROM rec")[0][0].as<std::string>();
            return {key.event() + ' ' + sum, "text/plain", {{"rec", "r1", ""}}};
        }
    };
    const World world;
    world.define_live();
    world.resolvers()->add("doubled", std::make_unique<Doubled>());
    CHECK_THROWS_AS(world.resolvers()->add("doubled", std::make_unique<Doubled>()), core::InvalidInput);
    world.exec("INSERT INTO feed_definition (feed_type, resolver, quiet_ms) VALUES ('twice', 'doubled', 0)");
    world.settle();
    CHECK(world.body("wc/twice") == "wc 2");
    CHECK(world.value("SELECT content_type FROM feed_document WHERE doc_key = 'wc/twice'") == "text/plain");
    world.set("r1", "g", 4);
    world.settle();
    CHECK(world.body("wc/twice") == "wc 8");
    world.exec("UPDATE feed_definition SET resolver = 'nobody' WHERE feed_type = 'twice'");
    world.settle();
    CHECK(says(world.value("SELECT last_error FROM feed_dirty"), "'nobody'"));
}

TEST_CASE("build.hash: volatile members alone make no version") {
    const World world;
    world.define_live();
    world.exec(
        "UPDATE feed_definition SET volatile_pointers = '{/made}', body_sql ="
        " $$SELECT json_build_object('made', clock_timestamp(), 'v', v) AS body, '{rec:r1}'::text[] AS deps FROM "
        "rec$$");
    world.settle();
    const auto body = world.body("wc/live");
    world.touch("rec", "r1");
    world.settle();
    CHECK(world.body("wc/live") == body);
    CHECK(world.versions("wc/live") == 1);
    world.set("r1", "g", 2);
    world.settle();
    CHECK(world.versions("wc/live") == 2);
}

TEST_CASE("build.hash: a status mark is content") {
    const World world;
    world.define("medals",
                 "SELECT json_build_object('status', grp, 'gold', v) AS body, '{rec:r1}'::text[] AS deps FROM rec");
    world.set("r1", "provisional", 5);
    world.settle();
    world.set("r1", "official", 5);
    world.settle();
    CHECK(world.versions("wc/medals") == 2);
}
