#include <doctest/doctest.h>

#include <support/pg.hpp>
#include <support/temp_folder.hpp>

#include "run_ftlctl.hpp"

using ftl::test::Answer;
using ftl::test::Database;
using ftl::test::run_ftlctl;

namespace {

void add_destination(const Database& db) {
    REQUIRE(run_ftlctl(db.uri(), {"client", "add", "acme", "--name", "Acme"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(),
                       {"destination", "add", "acme", "main", "--transport", "directory", "--folder", "/srv/acme"})
                .exit_code == 0);
}

Answer set(const Database& db, std::vector<std::string> options) {
    std::vector<std::string> args{"destination", "set", "acme", "main"};
    args.insert(args.end(), options.begin(), options.end());
    return run_ftlctl(db.uri(), args);
}

std::string assignment(const Database& db, const std::string& column) {
    return db.value("SELECT " + column + " FROM delivery_assignment");
}

// A file that was built and proven at the destination, without running a builder: the command reads tables only.
void add_proven_file(const Database& db) {
    db.exec(
        "INSERT INTO feed_document (doc_key, event, feed_type, body_gz, body_bytes, content_type, content_hash, "
        "body_hash, changed_at, last_modified, epoch, seq) VALUES ('wc/standings', 'wc', 'standings', '', 0, "
        "'application/json', '', '', now(), now(), 5, 9)");
    db.exec(
        "INSERT INTO delivery_state (assignment_id, doc_key, sent_epoch, sent_seq, sent_render, sent_hash) "
        "SELECT id, 'wc/standings', 5, 9, render, '\\x01' FROM delivery_assignment");
}

std::string owed(const Database& db) {
    const auto answer = run_ftlctl(db.uri(), {"status", "--json"});
    const auto at = answer.output.find("\"owed\":");
    return at == std::string::npos ? "none" : answer.output.substr(at + 7, answer.output.find(',', at) - at - 7);
}

}  // namespace

TEST_CASE("ftlctl.destination: a directory is added with its settings and starts switched on") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"client", "add", "acme"}).exit_code == 0);
    const auto answer = run_ftlctl(db.uri(), {"destination", "add", "acme", "main", "--transport", "directory",
                                              "--folder", "/srv/acme", "--events", "wc,euro", "--slow-retry-ms",
                                              "60000", "--on-retire", "delete", "--name-template", "{feed_type}.json"});
    CHECK(answer.exit_code == 0);
    CHECK(assignment(db, "folder || events::text || slow_retry_ms || on_retire || name_template || is_on") ==
          "/srv/acme{wc,euro}60000delete{feed_type}.jsontrue");
    CHECK(run_ftlctl(db.uri(), {"destination", "list", "--json"}).says("\"place\":\"/srv/acme\""));
    REQUIRE(run_ftlctl(db.uri(), {"destination", "add", "acme", "theirs", "--transport", "redis", "--host",
                                  "cache.acme.example", "--port", "6380", "--key-prefix", "ftl:"})
                .exit_code == 0);
    CHECK(run_ftlctl(db.uri(), {"destination", "list", "--json"}).says("\"place\":\"cache.acme.example:6380 ftl:\""));
}

TEST_CASE("ftlctl.destination: what could leave its folder is refused") {
    const Database db;
    add_destination(db);
    for (const auto* text : {"../{event}.json", "/etc/{event}", "a/../b", "{unknown}.json", "a\nb", "a\\b", ""}) {
        INFO(text);
        CHECK(set(db, {"--name-template", text}).exit_code == 2);
    }
    CHECK(set(db, {"--folder", "relative/path"}).exit_code == 2);
    CHECK(assignment(db, "name_template") == "{event}/{feed_type}{/filter}.json");
}

TEST_CASE("ftlctl.destination: both sides of each bound are held") {
    const Database db;
    add_destination(db);
    CHECK(set(db, {"--fast-retries-max", "16"}).exit_code == 0);
    CHECK(set(db, {"--fast-retries-max", "17"}).exit_code == 2);
    CHECK(set(db, {"--fast-retries-max", "-1"}).exit_code == 2);
    CHECK(set(db, {"--connect-ms", "1"}).exit_code == 0);
    CHECK(set(db, {"--connect-ms", "0"}).exit_code == 2);
    CHECK(set(db, {"--port", "65535"}).exit_code == 0);
    CHECK(set(db, {"--port", "65536"}).exit_code == 2);
    CHECK(set(db, {}).exit_code == 2);
}

TEST_CASE("ftlctl.destination: a new place is owed every file and another pace is not") {
    const Database db;
    add_destination(db);
    add_proven_file(db);
    CHECK(owed(db) == "0");
    CHECK(set(db, {"--slow-retry-ms", "60000"}).exit_code == 0);
    CHECK(owed(db) == "0");
    CHECK(set(db, {"--folder", "/srv/other"}).exit_code == 0);
    CHECK(owed(db) == "1");
}

TEST_CASE("ftlctl.destination: off needs a reason and keeps who and when") {
    const Database db;
    add_destination(db);
    CHECK(run_ftlctl(db.uri(), {"destination", "off", "acme", "main"}).exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"destination", "off", "acme", "main", "--reason", ""}).exit_code == 2);
    CHECK(assignment(db, "is_on") == "t");
    CHECK(run_ftlctl(db.uri(), {"destination", "off", "acme", "main", "--reason", "full disk", "--by", "ada"})
              .exit_code == 0);
    CHECK(assignment(db, "off_reason || ' ' || off_by || ' ' || (off_at IS NOT NULL)") == "full disk ada true");
    CHECK(db.value("SELECT why FROM audit_log WHERE action = 'destination off' AND who = 'ada' AND ok") == "full disk");
    CHECK(run_ftlctl(db.uri(), {"destination", "on", "acme", "main"}).exit_code == 0);
    CHECK(assignment(db, "is_on AND off_reason IS NULL") == "t");
}

TEST_CASE("ftlctl.destination: nothing is owed while it or its client is off") {
    const Database db;
    add_destination(db);
    add_proven_file(db);
    db.exec("UPDATE feed_document SET seq = 10");
    CHECK(owed(db) == "1");
    REQUIRE(run_ftlctl(db.uri(), {"client", "off", "acme", "--reason", "contract"}).exit_code == 0);
    CHECK(owed(db) == "0");
    REQUIRE(run_ftlctl(db.uri(), {"client", "on", "acme"}).exit_code == 0);
    REQUIRE(run_ftlctl(db.uri(), {"destination", "off", "acme", "main", "--reason", "x"}).exit_code == 0);
    CHECK(owed(db) == "0");
}

TEST_CASE("ftlctl.destination: every change is visible to a worker that keeps a snapshot of the settings") {
    const Database db;
    add_destination(db);
    const auto before = assignment(db, "txid");
    REQUIRE(run_ftlctl(db.uri(), {"client", "off", "acme", "--reason", "contract"}).exit_code == 0);
    const auto after_client = assignment(db, "txid");
    CHECK(after_client != before);
    REQUIRE(set(db, {"--slow-retry-ms", "60000"}).exit_code == 0);
    CHECK(assignment(db, "txid") != after_client);
}

TEST_CASE("ftlctl.destination: an unknown client or name fails with 1 and is in the audit log") {
    const Database db;
    add_destination(db);
    CHECK(run_ftlctl(db.uri(), {"destination", "off", "acme", "second", "--reason", "x"}).exit_code == 1);
    CHECK(run_ftlctl(db.uri(), {"destination", "add", "none", "main", "--transport", "directory", "--folder", "/x"})
              .complains("ftlctl client add none"));
    CHECK(run_ftlctl(db.uri(), {"client", "off", "none", "--reason", "x"}).exit_code == 1);
    CHECK(run_ftlctl(db.uri(), {"destination", "add", "acme", "main", "--transport", "directory", "--folder", "/x"})
              .complains("there already"));
    CHECK(db.value("SELECT count(*) FROM audit_log WHERE NOT ok") == "4");
}

TEST_CASE("ftlctl.destination: a transport that this version lacks is named with those it has") {
    const Database db;
    REQUIRE(run_ftlctl(db.uri(), {"client", "add", "acme"}).exit_code == 0);
    const auto answer = run_ftlctl(db.uri(), {"destination", "add", "acme", "main", "--transport", "gopher"});
    CHECK(answer.exit_code == 2);
    CHECK(answer.complains("directory"));
}

TEST_CASE("ftlctl.destination: a secret comes by standard input and lies encrypted") {
    const Database db;
    const ftl::test::TempFolder folder;
    add_destination(db);
    const auto key_file = (folder / "key").string();
    ftl::test::write_file(key_file, std::string(64, 'a') + "\n");
    const std::vector<std::string> args{
        "destination", "secret", "acme", "main", "password", "--deliver.master_key_file", key_file};
    const auto answer = run_ftlctl(db.uri(), args, "tres secret\n");
    CHECK(answer.exit_code == 0);
    CHECK_FALSE(answer.says("tres"));
    CHECK(db.value("SELECT count(*) FROM delivery_credential WHERE kind = 'password' AND ciphertext IS NOT NULL "
                   "AND position('tres secret'::bytea in ciphertext) = 0") == "1");
    CHECK(run_ftlctl(db.uri(), args, "").exit_code == 2);
    CHECK(run_ftlctl(db.uri(), {"destination", "secret", "acme", "main", "password"}, "x").exit_code == 2);
    CHECK(db.value("SELECT count(*) FROM audit_log WHERE detail::text LIKE '%tres%' OR why LIKE '%tres%'") == "0");
}
