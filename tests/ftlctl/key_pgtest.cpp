#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <ftlfeed/core/hash.hpp>

#include "run_ftlctl.hpp"
#include "support/pg.hpp"

using namespace ftl::test;

namespace {

/// A database with a client.
struct Keys {
    Database db;

    Keys() { REQUIRE(run("client add acme").exit_code == 0); }

    [[nodiscard]] Answer run(const std::string& words, const std::vector<std::string>& more = {}) const {
        std::istringstream reader(words);
        std::vector<std::string> args;
        for (std::string word; reader >> word;) args.push_back(word);
        args.insert(args.end(), more.begin(), more.end());
        return run_ftlctl(db.uri(), args);
    }
    /// A fact of a command that answers JSON.
    [[nodiscard]] std::string fact(const std::string& words, const char* name) const {
        const auto answer = run(words, {"--json"});
        REQUIRE(answer.exit_code == 0);
        rapidjson::Document json;
        json.Parse(answer.output.c_str());
        REQUIRE(json.HasMember(name));
        return json[name].IsString() ? json[name].GetString() : std::to_string(json[name].GetInt64());
    }
};

}  // namespace

TEST_CASE("ftlctl.key: issue shows the key once and keeps nothing but its hash") {
    const Keys keys;
    const auto key = keys.fact("key issue acme --label production", "key");
    CHECK(key.size() == 4 + 64);
    CHECK(key.starts_with("ftl_"));
    CHECK(keys.db.value("SELECT encode(key_hash, 'hex') FROM client_key") == ftlfeed::core::sha256_hex(key));
    CHECK(keys.db.value("SELECT label FROM client_key") == "production");
    CHECK(keys.db.value("SELECT count(*) FROM client_key k, audit_log a WHERE k::text LIKE '%ftl_%' OR a::text LIKE "
                        "'%" +
                        key.substr(4, 20) + "%'") == "0");
    const auto listed = keys.run("key list");
    CHECK(listed.says("production"));
    CHECK(listed.says(ftlfeed::core::sha256_hex(key).substr(0, 8)));
    CHECK_FALSE(listed.says(key.substr(4)));
}

TEST_CASE("ftlctl.key: two keys differ and both hold until one is revoked") {
    const Keys keys;
    CHECK(keys.fact("key issue acme", "key") != keys.fact("key issue acme", "key"));
    const auto id = keys.db.value("SELECT min(id) FROM client_key");
    CHECK(keys.run("key revoke " + id, {"--reason", "lost"}).exit_code == 0);
    CHECK(keys.db.value("SELECT revoked_by || '/' || reason FROM client_key WHERE id = " + id) == "tester/lost");
    CHECK(keys.db.value("SELECT count(*) FROM client_key WHERE revoked_at IS NULL") == "1");
    CHECK(keys.db.value("SELECT count(*) FROM audit_log WHERE action = 'key revoke' AND why = 'lost' AND ok") == "1");
}

TEST_CASE("ftlctl.key: revoking twice or what is not there is refused and recorded") {
    const Keys keys;
    const auto id = keys.fact("key issue acme", "id");
    REQUIRE(keys.run("key revoke " + id, {"--reason", "lost"}).exit_code == 0);
    const auto again = keys.run("key revoke " + id, {"--reason", "lost again"});
    CHECK(again.exit_code == 1);
    CHECK(again.complains("revoked already"));
    CHECK(keys.db.value("SELECT reason FROM client_key") == "lost");
    CHECK(keys.run("key revoke 4711", {"--reason", "x"}).complains("there is no key 4711"));
    CHECK(keys.run("key revoke seven", {"--reason", "x"}).exit_code == 2);
    CHECK(keys.run("key revoke " + id).exit_code == 2);
    CHECK(keys.db.value("SELECT count(*) FROM audit_log WHERE action = 'key revoke' AND NOT ok") == "2");
}

TEST_CASE("ftlctl.key: an expiry is a day or a moment to come") {
    const Keys keys;
    REQUIRE(keys.run("key issue acme --expires 2090-12-31").exit_code == 0);
    CHECK(keys.db.value("SELECT expires_at AT TIME ZONE 'UTC' FROM client_key") == "2090-12-31 00:00:00");
    CHECK(keys.run("key issue acme --expires 2001-01-01").complains("has passed"));
    for (const auto* wrong : {"tomorrow", "31.12.2090", "2090-12-31T18:00", "2090-12-31T18:00:00+02:00"}) {
        CHECK(keys.run("key issue acme --expires", {wrong}).exit_code == 2);
    }
    CHECK(keys.run("key issue nobody").complains("there is no client 'nobody'"));
}

TEST_CASE("ftlctl.key: entitlements add up and are taken away together") {
    const Keys keys;
    CHECK(keys.run("key issue acme").says("it opens nothing yet"));
    REQUIRE(keys.run("client entitle acme --events wc2026,ec2028 --feed-types calendar").exit_code == 0);
    REQUIRE(keys.run("client entitle acme --events wc2026,ec2028 --feed-types calendar").exit_code == 0);
    REQUIRE(keys.run("client entitle acme --events copa").exit_code == 0);
    CHECK(keys.db.value("SELECT count(*) FROM client_entitlement") == "2");
    CHECK(keys.db.value("SELECT count(*) FROM client_entitlement WHERE feed_types IS NULL AND events = '{copa}'") ==
          "1");
    CHECK(keys.run("client entitlements").says("wc2026,ec2028"));
    CHECK_FALSE(keys.run("key issue acme").says("it opens nothing yet"));
    CHECK(keys.run("client entitle acme --events Wc,..").exit_code == 2);
    CHECK(keys.run("client entitle acme --events ,").exit_code == 2);
    CHECK(keys.fact("client unentitle acme", "removed") == "2");
}

TEST_CASE("ftlctl.key: what changes a key or what it opens notifies in its own transaction") {
    const Keys keys;
    // A trigger calls pg_notify, which a session that listens gets when the transaction commits.
    for (const auto* table : {"client_key", "client_entitlement", "delivery_client", "event", "feed_definition"}) {
        CHECK(keys.db.value("SELECT count(*) > 0 FROM pg_trigger WHERE tgrelid = '" + std::string(table) +
                            "'::regclass AND tgfoid = 'ftl_keys_changed'::regproc") == "t");
    }
}
