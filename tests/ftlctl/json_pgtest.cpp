// Every command with --json, and what ftlctl says of a Redis.

#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <set>

#include <ftlctl/arguments.hpp>
#include <ftlctl/command.hpp>

#include "deliver/world.hpp"
#include "run_ftlctl.hpp"
#include "support/troubled_redis.hpp"

using namespace ftl::test;

namespace {

/// A call that succeeds after those before it. `words` are parted at blanks.
struct CallRow {
    const char* command;
    std::string words = "";
    std::string input = "";
};

std::vector<std::string> parted(const std::string& words) {
    std::vector<std::string> parts;
    std::istringstream reader(words);
    for (std::string word; reader >> word;) parts.push_back(word);
    return parts;
}

/// A world whose ftlctl has the configuration of an ftl-deliver that may send to this machine.
class JsonWorld : public DeliverWorld {
public:
    JsonWorld() { write_file(temp / "master_key", std::string(64, 'a') + "\n"); }

    [[nodiscard]] Answer call(const std::string& words, const std::string& input = "") const {
        auto args = parted(words);
        args.insert(args.end(), {"--deliver.master_key_file", (temp / "master_key").string(), "--deliver.allowed_hosts",
                                 "127.0.0.1", "--deliver.enabled", "true"});
        return run_ftlctl(db.uri(), args, input);
    }
};

}  // namespace

TEST_CASE("ftlctl.json: every command answers one JSON object and nothing else") {
    const JsonWorld world;
    const RedisServer redis;
    std::filesystem::create_directory(world.temp / "out");
    const auto seq = std::to_string(world.publish("wc/calendar", "{}"));
    const std::vector<CallRow> rows{
        {"migrate up"},
        {"migrate status"},
        {"event add", "wc --season 7"},
        {"event list"},
        {"event rule set", "wc goal scorer 50000"},
        {"event rule list", "wc"},
        {"client add", "beta"},
        {"client list"},
        {"client off", "beta --reason quiet"},
        {"client on", "beta"},
        {"client entitle", "acme --events wc"},
        {"client entitlements"},
        {"key issue", "acme --label x"},
        {"key list"},
        {"key revoke", "1 --reason lost"},
        {"client unentitle", "acme"},
        {"destination add", "acme main --transport directory --folder " + (world.temp / "out").string()},
        {"destination set", "acme main --slow-retry-ms 60000"},
        {"destination secret", "acme main password", "hunter2\n"},
        {"destination test", "acme main"},
        {"destination send", "acme main wc/calendar"},
        {"destination off", "acme main --reason quiet"},
        {"destination on", "acme main"},
        {"destination list"},
        {"feed list"},
        {"feed show", "wc/calendar --version 1000:" + seq},
        {"feed why", "wc/calendar"},
        {"feed history", "wc/calendar"},
        {"feed rebuild", "wc/calendar"},
        {"outbox register", "mine"},
        {"outbox status"},
        {"outbox rebase", "--yes"},
        {"outbox unregister", "mine"},
        {"alert list"},
        {"status"},
        {"doctor"},
        {"migrate down", "--steps 1 --yes"},
    };
    std::set<std::string> called;
    for (const auto& [command, words, input] : rows) {
        CAPTURE(command);
        const auto answer = world.call(std::string(command) + " " + words + " --json", input);
        INFO(answer.output);
        INFO(answer.errors);
        // doctor finds that nobody runs here; that is an answer too.
        CHECK(answer.exit_code == (std::string(command) == "doctor" ? 1 : 0));
        rapidjson::Document json;
        json.Parse(answer.output.c_str());
        CHECK_FALSE(json.HasParseError());
        CHECK(json.IsObject());
        CHECK_FALSE(json.ObjectEmpty());
        CHECK(answer.errors.empty());
        CHECK_FALSE(answer.says("hunter2"));
        called.insert(command);
    }
    for (const auto& command : ftlctl::all_commands()) {
        INFO("add a row for it here: " << ftlctl::joined_words(command));
        CHECK(called.contains(ftlctl::joined_words(command)));
    }
}

TEST_CASE("ftlctl.json: a call that fails writes its reason to standard error alone") {
    const JsonWorld world;
    for (const auto* words : {"client off nobody --reason x --json", "feed show wc/nothing --json",
                              "key revoke 4711 --reason x --json", "destination test acme none --json"}) {
        const auto answer = world.call(words);
        CHECK(answer.exit_code == 1);
        CHECK(answer.output.empty());
        CHECK(answer.errors.starts_with("ftlctl: "));
    }
}

TEST_CASE("ftlctl.program: the configuration of ftl-serve may be given as it is") {
    const JsonWorld world;
    write_file(world.temp / "ftl-serve.toml",
               "[cache]\nuri = 'redis://127.0.0.1:6379/0'\n[serve]\nthreads = 2\naddress = '127.0.0.1:8080'\n");
    CHECK(world.call("key list --config " + (world.temp / "ftl-serve.toml").string()).exit_code == 0);
}

TEST_CASE("ftlctl.destination: a test of a Redis leaves nothing there and names what is wrong and what helps") {
    const JsonWorld world;
    const auto add = [&](const std::string& name, const RedisServer& redis) {
        return world.call("destination add acme " + name +
                          " --transport redis --host 127.0.0.1 --key-prefix acme: --port " +
                          std::to_string(redis.port()));
    };
    const RedisServer redis;
    REQUIRE(add("good", redis).exit_code == 0);
    const auto good = world.call("destination test acme good");
    CHECK(good.exit_code == 0);
    CHECK(good.says("acme:"));
    CHECK(redis.cli({"DBSIZE"}) == "0");
    int number = 0;
    for (const auto& trouble : troubled_redises()) {
        CAPTURE(trouble.code);
        const auto name = "bad" + std::to_string(++number);
        REQUIRE(add(name, *trouble.server).exit_code == 0);
        const auto bad = world.call("destination test acme " + name);
        INFO(bad.errors);
        CHECK(bad.exit_code == 1);
        CHECK(bad.complains("Redis 127.0.0.1:" + std::to_string(trouble.server->port())));
        CHECK(bad.complains(trouble.code));
        CHECK(bad.complains(trouble.remedy));
    }
    const auto fenced = run_ftlctl(world.db.uri(), {"destination", "test", "acme", "good", "--deliver.enabled", "true",
                                                    "--deliver.allowed_hosts", "10.0.0.0/8"});
    CHECK(fenced.exit_code != 0);
    CHECK(fenced.complains("outside the fence"));
}

TEST_CASE("ftlctl.doctor: our own Redis is looked at when its configuration is given") {
    const JsonWorld world;
    const RedisServer redis;
    const auto doctor = [&](const std::string& uri) { return world.call("doctor --json --cache.uri " + uri); };
    CHECK(world.call("doctor --json").says("\"result\":\"OK\",\"check\":\"cache\""));
    CHECK(doctor(redis.uri()).says("\"result\":\"OK\",\"check\":\"cache\""));
    CHECK(redis.cli({"DBSIZE"}) == "0");
    const RedisServer closed({"--requirepass", "right-one"});
    const auto answer = doctor(closed.uri());
    CHECK(answer.exit_code == 1);
    CHECK(answer.says("\"result\":\"PROBLEM\",\"check\":\"cache\""));
    CHECK(answer.says("NOAUTH"));
    CHECK(answer.says("cache.password_file"));
}
