#include <doctest/doctest.h>

#include <support/pg.hpp>

#include "run_ftlctl.hpp"

using ftl::test::Content;
using ftl::test::Database;
using ftl::test::run_ftlctl;

TEST_CASE("ftlctl.migrate: up makes the tables once and a second run applies nothing") {
    const Database db(Content::kNothing);
    const auto first = run_ftlctl(db.uri(), {"migrate", "up", "--json"});
    CHECK(first.exit_code == 0);
    CHECK(first.says("{\"version\":1,\"name\":\"cluster\"}"));
    CHECK(db.value("SELECT count(*) FROM audit_log WHERE action = 'migrate up' AND who = 'tester' AND ok") == "1");
    const auto second = run_ftlctl(db.uri(), {"migrate", "up", "--json"});
    CHECK(second.exit_code == 0);
    CHECK(second.says("\"applied\":[]"));
    CHECK(run_ftlctl(db.uri(), {"migrate", "status", "--json"}).says("\"dirty\":false,\"pending\":[]"));
}

TEST_CASE("ftlctl.migrate: down does nothing without --yes") {
    const Database db;
    CHECK(run_ftlctl(db.uri(), {"migrate", "down"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"migrate", "status", "--json"}).says("\"pending\":[]"));
    CHECK(db.value("SELECT count(*) FROM audit_log WHERE action = 'migrate down'") == "0");
    CHECK(run_ftlctl(db.uri(), {"migrate", "down", "--yes"}).exit_code == 0);
    CHECK(db.value("SELECT subject || ' ' || who FROM audit_log WHERE action = 'migrate down' AND ok") ==
          "1 steps tester");
    CHECK_FALSE(run_ftlctl(db.uri(), {"migrate", "status", "--json"}).says("\"pending\":[]"));
    // The audit log goes with the first one.
    CHECK(run_ftlctl(db.uri(), {"migrate", "down", "--steps", "1000", "--yes", "--json"}).says("\"current\":0"));
}

TEST_CASE("ftlctl.event: add makes the event and the build cursor and a touch that the cursor has not read") {
    const Database db;
    const auto answer = run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7", "--name", "World Cup"});
    CHECK(answer.exit_code == 0);
    CHECK(db.value("SELECT provider || provider_season_id || name FROM event WHERE code = 'wc'") ==
          "sportmonks7World Cup");
    CHECK(db.value("SELECT count(*) FROM outbox_cursor WHERE consumer = 'build'") == "1");
    CHECK(run_ftlctl(db.uri(), {"outbox", "status", "--json"}).says("\"consumer\":\"build\",\"rows_behind\":1"));
    CHECK(db.value("SELECT action || ' ' || subject || ' ' || who || ' ' || ok FROM audit_log") ==
          "event add wc tester true");
}

TEST_CASE("ftlctl.event: a code or a season that is taken fails with 1 and the attempt is in the audit log") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "8"}).exit_code == 1);
    const auto answer = run_ftlctl(db.uri(), {"event", "add", "euro", "--season", "7", "--by", "ada"});
    CHECK(answer.exit_code == 1);
    CHECK(answer.complains("there already"));
    CHECK(db.value("SELECT count(*) FROM event") == "1");
    CHECK(db.value("SELECT detail ->> 'error' FROM audit_log WHERE NOT ok AND who = 'ada'").find("there already") !=
          std::string::npos);
}

TEST_CASE("ftlctl.event: a code that could not stand in a path and a season that nobody has are refused") {
    const Database db;
    for (const auto* code : {"WC", "a/b", "..", "wc 2026"}) {
        CHECK(run_ftlctl(db.uri(), {"event", "add", code, "--season", "7"}).exit_code == 2);
    }
    CHECK(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "0"}).exit_code == 2);
    CHECK(db.value("SELECT count(*) FROM event") == "0");
}

TEST_CASE("ftlctl.event: a rule is set by the type's name or number and replaced by a second one") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(), {"event", "rule", "set", "wc", "goal", "scorer", "50000"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(), {"event", "rule", "set", "wc", "14", "opponent", "-5000"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(), {"event", "rule", "set", "wc", "14", "scorer", "60000"}).exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"event", "rule", "list", "wc", "--json"})
              .says("[{\"event\":\"wc\",\"type\":14,\"role\":\"opponent\",\"micro\":-5000},"
                    "{\"event\":\"wc\",\"type\":14,\"role\":\"scorer\",\"micro\":60000}]"));
}

TEST_CASE("ftlctl.event: a rule with an unknown role or type or event is refused") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"event", "rule", "set", "wc", "goal", "keeper", "1"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"event", "rule", "set", "wc", "gaol", "scorer", "1"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"event", "rule", "set", "wc", "goal", "scorer", "1.5"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"event", "rule", "set", "euro", "goal", "scorer", "1"}).exit_code == 1);
    CHECK(db.value("SELECT count(*) FROM bump_rule") == "0");
}

TEST_CASE("ftlctl.outbox: consumers are registered and unregistered by command") {
    const Database db;
    CHECK(run_ftlctl(db.uri(), {"outbox", "register", "audit"}).exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"outbox", "register", "audit"}).exit_code == 1);
    CHECK(run_ftlctl(db.uri(), {"outbox", "status", "--json"}).says("\"consumer\":\"audit\",\"rows_behind\":0"));
    CHECK(run_ftlctl(db.uri(), {"outbox", "unregister", "audit"}).exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"outbox", "unregister", "audit"}).exit_code == 1);
    CHECK(db.value("SELECT count(*) FROM audit_log WHERE action LIKE 'outbox%' AND NOT ok") == "2");
}

TEST_CASE("ftlctl.outbox: rebase asks for --yes and marks every file") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"event", "add", "wc", "--season", "7"}).exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"outbox", "rebase"}).exit_code == 2);
    const auto answer = run_ftlctl(db.uri(), {"outbox", "rebase", "--yes", "--json"});
    CHECK(answer.exit_code == 0);
    CHECK(answer.says("\"marked\":"));
}
