#include <doctest/doctest.h>

#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/store/value.hpp>
#include <support/pg.hpp>
#include <support/temp_folder.hpp>

#include <ftlctl/feed_why.hpp>

#include "run_ftlctl.hpp"

using ftl::test::Content;
using ftl::test::Database;
using ftl::test::run_ftlctl;

namespace {

void add_file(const Database& db, const std::string& key, const std::string& feed_type, const std::string& body) {
    db.exec(
        "INSERT INTO feed_document (doc_key, event, feed_type, body_gz, body_bytes, content_type, content_hash, "
        "body_hash, changed_at, last_modified, epoch, seq) VALUES ('" +
        key + "', 'wc', '" + feed_type + "', '" + ftlfeed::store::bytea(ftlfeed::core::gzip(body)) + "', " +
        std::to_string(body.size()) + ", 'application/json', '', '', now(), now(), 5, 9)");
    db.exec("INSERT INTO feed_key (doc_key, event, feed_type) VALUES ('" + key + "', 'wc', '" + feed_type + "')");
}

}  // namespace

TEST_CASE("ftlctl.feed: show prints a file's version and its very bytes") {
    const Database db;
    add_file(db, "wc/standings", "standings", "{\"groups\":[]}");
    CHECK(run_ftlctl(db.uri(), {"feed", "show", "wc/standings", "--json"}).says("\"version\":\"5:9\""));
    CHECK(run_ftlctl(db.uri(), {"feed", "show", "wc/standings", "--body"}).output == "{\"groups\":[]}");
    CHECK(run_ftlctl(db.uri(), {"feed", "show", "wc/scorers"}).exit_code == 1);
    CHECK(run_ftlctl(db.uri(), {"feed", "show", "no slash"}).exit_code == 2);
    add_file(db, "wc/empty", "empty", "");
    CHECK(run_ftlctl(db.uri(), {"feed", "show", "wc/empty", "--body", "--json"}).output == "{\"body\":\"\"}\n");
}

TEST_CASE("ftlctl.feed: list shows one event or all and what waits for a build") {
    const Database db;
    add_file(db, "wc/standings", "standings", "{}");
    add_file(db, "wc/scorers", "scorers", "{}");
    REQUIRE(run_ftlctl(db.uri(), {"feed", "rebuild", "wc/scorers"}).exit_code == 0);
    const auto all = run_ftlctl(db.uri(), {"feed", "list"});
    CHECK(all.says("wc/standings"));
    CHECK(run_ftlctl(db.uri(), {"feed", "list", "--json"}).says("\"dirty\":true"));
    CHECK(run_ftlctl(db.uri(), {"feed", "list", "--event", "euro"}).says("no files"));
}

TEST_CASE("ftlctl.feed: rebuild marks what was asked for and a second mark moves the generation on") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    add_file(db, "wc/standings", "standings", "{}");
    add_file(db, "wc/scorers", "scorers", "{}");
    CHECK(run_ftlctl(db.uri(), {"feed", "rebuild", "wc/scorers", "--json"}).says("\"marked\":1"));
    CHECK(run_ftlctl(db.uri(), {"feed", "rebuild", "--event", "wc", "--json"}).says("\"marked\":2"));
    CHECK(db.value("SELECT gen FROM feed_dirty WHERE doc_key = 'wc/scorers'") == "2");
    CHECK(run_ftlctl(db.uri(), {"feed", "rebuild"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"feed", "rebuild", "wc/scorers", "--all"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"feed", "rebuild", "wc/nothing"}).exit_code == 1);
    const auto unknown = run_ftlctl(db.uri(), {"feed", "rebuild", "--event", "euro"});
    CHECK(unknown.exit_code == 1);
    CHECK(unknown.complains("ftlctl event list"));
}

TEST_CASE("ftlctl.feed: show gives an earlier version as history names it and says what is no longer kept") {
    const Database db;
    add_file(db, "wc/standings", "standings", "new");
    const auto keep = [&](const std::string& body, int epoch, int seq) {
        db.exec(
            "INSERT INTO feed_version (doc_key, epoch, seq, content_hash, body_hash, body_gz, body_bytes, changed_at) "
            "VALUES ('wc/standings', " +
            std::to_string(epoch) + ", " + std::to_string(seq) + ", '', '', '" +
            ftlfeed::store::bytea(ftlfeed::core::gzip(body)) + "', " + std::to_string(body.size()) + ", now())");
    };
    keep("old", 4, 8);
    keep("new", 5, 9);
    const auto show = [&](const std::string& version) {
        return run_ftlctl(db.uri(), {"feed", "show", "wc/standings", "--body", "--version", version});
    };
    CHECK(show("4:8").output == "old");
    CHECK(show("5:9").output == "new");
    // The epoch moved on since it was built.
    CHECK(show("6:9").output == "new");
    CHECK(show("5:7").exit_code == 1);
    CHECK(show("8").exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"feed", "show", "wc/standings", "--version", "4:8", "--json"})
              .says("\"version\":\"4:8\""));
}

TEST_CASE("ftlctl.feed: history tells what became of each version and which one was overtaken") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"client", "add", "acme"}).exit_code == 0);
    db.exec(
        "INSERT INTO feed_version (doc_key, epoch, seq, content_hash, body_hash, body_gz, body_bytes, changed_at) "
        "SELECT 'wc/standings', 5, n, '', '', '', 7, now() FROM generate_series(1, 3) n;"
        "INSERT INTO delivery_assignment (client_id, name, transport) SELECT id, 'main', 'directory' FROM "
        "delivery_client;"
        "INSERT INTO delivery_attempt (assignment_id, doc_key, epoch, seq, render, outcome, worker, started_at, error) "
        "SELECT a.id, 'wc/standings', 5, x.seq, 1, x.outcome, 'w', now(), x.error FROM delivery_assignment a, "
        "(VALUES (1, 'failed', 'disk full'), (1, 'delivered', NULL), (3, 'delivered', NULL)) x (seq, outcome, error)");
    const auto told = run_ftlctl(db.uri(), {"feed", "history", "wc/standings", "--json"});
    CHECK(told.says("\"version\":\"5:2\""));
    CHECK(told.says("overtaken by a newer version"));
    CHECK(told.says("disk full"));
    CHECK(told.says("acme/main"));
    CHECK(run_ftlctl(db.uri(), {"feed", "history", "wc/nothing"}).exit_code == 1);
    CHECK(run_ftlctl(db.uri(), {"feed", "history", "wc/standings", "--limit", "0"}).exit_code == 2);
}

TEST_CASE("ftlctl.feed: why finds a touch that no reader has marked and a mark that nobody builds") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    db.exec("DELETE FROM feed_dirty");
    add_file(db, "wc/standings", "standings", "{}");
    db.exec("INSERT INTO feed_dependency VALUES ('event', 'wc', 'wc/standings')");
    db.exec("UPDATE outbox_cursor SET snap = pg_current_snapshot()");
    const auto why = [&] { return run_ftlctl(db.uri(), {"feed", "why", "wc/standings"}); };
    CHECK(why().says("clean"));
    db.exec("SELECT ftl_touch('event', 'wc')");
    CHECK(why().says("a touch of event:wc waits for the reader"));
    REQUIRE(run_ftlctl(db.uri(), {"feed", "rebuild", "wc/standings"}).exit_code == 0);
    CHECK(why().says("dirty (rebuild)"));
    CHECK(run_ftlctl(db.uri(), {"feed", "why", "wc/no-such-type"}).exit_code == 1);
}

TEST_CASE("ftlctl.feed: why has a sentence for each standing") {
    ftlctl::FileStanding file;
    const auto says = [&](const std::string& words) {
        INFO(explain(file));
        return explain(file).find(words) != std::string::npos;
    };
    CHECK(says("not there: no definition"));
    file.has_definition = true;
    CHECK(says("not there: the definition is off"));
    file.is_definition_on = true;
    CHECK(says("not there: the definition does not list it"));
    file.is_listed = true;
    CHECK(says("never built"));
    file.is_built = true;
    CHECK(says("nobody reads the outbox"));
    file.has_cursor = true;
    CHECK(says("clean: nothing"));
    file.is_retired = true;
    file.is_listed = false;
    CHECK(says("retired: the definition does not list it"));
    file.unread_touch = "fixture:7";
    CHECK(says("touch of fixture:7"));
    file.is_dirty = true;
    file.reason = "touch";
    CHECK(says("due now"));
    file.due_in_ms = 300;
    CHECK(says("due in 300 ms"));
    file.failures = 2;
    file.last_error = "division by zero";
    CHECK(says("failed 2 times"));
    CHECK(says("division by zero"));
    file.is_claimed = true;
    CHECK(says("a builder is at it"));
}

TEST_CASE("ftlctl.alert: list shows open ones with the gravest first and --all those that are over") {
    const Database db;
    db.exec(
        "INSERT INTO alert (kind, subject, severity, message, cleared_at) VALUES "
        "('a.info', 's', 'info', 'small', NULL), ('a.critical', 's', 'critical', 'big', NULL), "
        "('a.over', 's', 'critical', 'past', '2026-06-11 21:00:00.5+02'), "
        "('a.over2', 's', 'critical', 'past', '2026-06-11 19:00:01+00')");
    const auto open = run_ftlctl(db.uri(), {"alert", "list"});
    CHECK(open.output.find("a.critical") < open.output.find("a.info"));
    CHECK_FALSE(open.says("a.over"));
    const auto all = run_ftlctl(db.uri(), {"alert", "list", "--all", "--json"});
    CHECK(all.says("\"cleared_at\":\"2026-06-11T19:00:00.500Z\""));
    CHECK(all.says("\"cleared_at\":\"2026-06-11T19:00:01.000Z\""));
    CHECK(all.says("\"cleared_at\":null"));
}

TEST_CASE("ftlctl.status: one answer tells fixtures by state and cursors and destinations") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    db.exec(
        "INSERT INTO fixture (provider, provider_id, event_id, state_id, state, is_terminal, has_started) "
        "SELECT 'sportmonks', n, e.id, n, 'X', n = 3, n > 1 FROM event e, generate_series(1, 3) n");
    const auto answer = run_ftlctl(db.uri(), {"status", "--json"});
    CHECK(answer.exit_code == 0);
    CHECK(answer.says("{\"event\":\"wc\",\"fixtures\":3,\"ahead\":1,\"in_play\":1,\"over\":1,\"incomplete\":0}"));
    CHECK(answer.says("\"cursors\":[{\"consumer\":\"build\""));
    CHECK(answer.says("\"destinations\":[]"));
}

TEST_CASE("ftlctl.doctor: a sound installation passes and each trouble is found with its remedy") {
    const Database db;
    const ftl::test::TempFolder folder;
    const auto doctor = [&] { return run_ftlctl(db.uri(), {"doctor", "--json", "--deliver.enabled", "true"}); };
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(), {"client", "add", "acme"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(), {"destination", "add", "acme", "main", "--transport", "directory", "--folder",
                                  folder.path().string()})
                .exit_code == 0);
    db.exec("INSERT INTO lease (name, holder) VALUES ('ingest:sportmonks', 'here')");
    const auto sound = doctor();
    INFO(sound.output);
    REQUIRE(sound.exit_code == 0);
    CHECK(sound.says("\"problems\":0"));

    const auto finds = [&](const std::string& check, const std::string& remedy) {
        const auto answer = doctor();
        INFO(answer.output);
        CHECK(answer.exit_code == 1);
        CHECK(answer.says("\"result\":\"PROBLEM\",\"check\":\"" + check + "\""));
        CHECK(answer.says(remedy));
    };
    SUBCASE("deliver switched off") {
        CHECK(run_ftlctl(db.uri(), {"doctor", "--json"}).says("\"PROBLEM\",\"check\":\"deliver.enabled\""));
    }
    SUBCASE("a lease that nobody renews") {
        db.exec("UPDATE lease SET renewed_at = now() - interval '1 minute'");
        finds("lease ingest:sportmonks", "start it");
    }
    SUBCASE("a lease that was given back") {
        db.exec("UPDATE lease SET holder = ''");
        finds("lease ingest:sportmonks", "given back");
    }
    SUBCASE("no build cursor") {
        db.exec("DELETE FROM outbox_cursor");
        finds("cursor build", "ftlctl outbox register build");
    }
    SUBCASE("a cursor of another cluster") {
        db.exec("UPDATE outbox_cursor SET system_identifier = 1");
        finds("cursor build", "ftlctl outbox rebase");
    }
    SUBCASE("an epoch of another cluster") {
        db.exec(
            "INSERT INTO cluster_epoch (system_identifier, timeline, epoch) VALUES (1, 1, 5) "
            "ON CONFLICT (one) DO UPDATE SET system_identifier = 1");
        finds("epoch", "start ftl-deliver");
    }
    SUBCASE("a folder that is not there") {
        db.exec("UPDATE delivery_assignment SET folder = '/nonexistent/acme'");
        finds("folder acme/main", "mkdir -p");
    }
    SUBCASE("a destination that fails") {
        db.exec("UPDATE delivery_assignment SET failures = 3, last_error = 'ENOSPC'");
        finds("destination acme/main", "ENOSPC");
    }
    SUBCASE("a file that fails to build") {
        db.exec("INSERT INTO feed_dirty (doc_key, first_touch, last_touch, failures) VALUES ('wc/x', now(), now(), 3)");
        finds("builds", "ftlctl feed rebuild");
    }
    SUBCASE("no event") {
        db.exec("DELETE FROM event");
        finds("events", "ftlctl event add");
    }
}

TEST_CASE("ftlctl.doctor: an empty database is told to migrate and a missing server is told as such") {
    const Database db(Content::kNothing);
    const auto answer = run_ftlctl(db.uri(), {"doctor"});
    CHECK(answer.exit_code == 1);
    CHECK(answer.says("ftlctl migrate up"));
    const auto nowhere = run_ftlctl("postgresql://nobody@127.0.0.1:1/none", {"doctor"});
    CHECK(nowhere.exit_code == 1);
    CHECK(nowhere.says("PROBLEM"));
}
