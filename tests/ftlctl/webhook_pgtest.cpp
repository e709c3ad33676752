#include <doctest/doctest.h>

#include <filesystem>

#include <support/pg.hpp>
#include <support/temp_folder.hpp>

#include "deliver/webhook_client.hpp"
#include "deliver/world.hpp"
#include "run_ftlctl.hpp"

using namespace ftl::test;

namespace {

class Installation {
public:
    Installation() {
        write_file(folder / "key", std::string(64, 'a') + "\n");
        write_file(folder / "secret", std::string(kWebhookSecret) + "\n");
        REQUIRE(call({"client", "add", "acme"}).exit_code == 0);
    }
    /// With the configuration of an ftl-deliver that may send to this machine.
    [[nodiscard]] Answer call(std::vector<std::string> args, const std::string& input = "") const {
        args.insert(args.end(), {"--deliver.master_key_file", (folder / "key").string(), "--deliver.allowed_hosts",
                                 "127.0.0.1", "--deliver.enabled", "true"});
        return run_ftlctl(db.uri(), args, input);
    }
    [[nodiscard]] Answer add_webhook(const std::string& url, const std::string& secret = kWebhookSecret) const {
        return call(
            {"destination", "add", "acme", "hook", "--transport", "webhook", "--url", url, "--secret-file", "-"},
            secret + "\n");
    }
    [[nodiscard]] std::string kinds() const {
        return db.value("SELECT coalesce(string_agg(kind, ' ' ORDER BY kind), '') FROM delivery_credential");
    }
    Database db;
    TempFolder folder;
};

std::string url_of(const WebhookClient& client) { return "http://127.0.0.1:" + std::to_string(client.port()) + "/in"; }

}  // namespace

TEST_CASE("ftlctl.webhook: a webhook is added with its URL in parts and its secret sealed and never shown") {
    const Installation installation;
    const auto answer = installation.add_webhook("https://Hooks.Acme.example:8443/in?t=1");
    CHECK(answer.exit_code == 0);
    CHECK_FALSE(answer.says("whsec_"));
    CHECK(installation.db.value("SELECT url_scheme || ' ' || host || ' ' || port || ' ' || url_path || ' ' || is_on "
                                "FROM delivery_assignment") == "https hooks.acme.example 8443 /in?t=1 true");
    CHECK(installation.kinds() == "signing_secret");
    CHECK(installation.db.value("SELECT count(*) FROM delivery_credential c WHERE c::text LIKE '%whsec%'") == "0");
    CHECK(installation.db.value("SELECT count(*) FROM audit_log WHERE why LIKE '%whsec%' OR subject LIKE '%whsec%'") ==
          "0");
    // A query may be a secret of theirs.
    CHECK(installation.call({"destination", "list"}).says("https://hooks.acme.example:8443/in"));
    CHECK_FALSE(installation.call({"destination", "list", "--json"}).says("t=1"));
}

TEST_CASE("ftlctl.webhook: what would not work is refused before anything is written") {
    const Installation installation;
    for (const auto* url :
         {"ftp://a.example/", "https://me:pw@a.example/", "a.example", "https://a.example/\r\nX: y"}) {
        CAPTURE(url);
        CHECK(installation.add_webhook(url).exit_code == 2);
    }
    for (const auto* secret : {"hunter2", "whsec_c2hvcnQ=", ""}) {
        CAPTURE(secret);
        const auto answer = installation.add_webhook("https://a.example/", secret);
        CHECK(answer.exit_code == 2);
        CHECK_FALSE(answer.complains("hunter2"));
    }
    const std::vector<std::string> bare{"destination", "add", "acme", "hook", "--transport", "webhook"};
    CHECK(installation.call(bare).complains("--url"));
    auto unsigned_one = bare;
    unsigned_one.insert(unsigned_one.end(), {"--url", "https://a.example/"});
    CHECK(installation.call(unsigned_one).complains("--secret-file"));
    auto shell = unsigned_one;
    shell.insert(shell.end(), {"--secret-command", "/bin/cat secret | head"});
    CHECK(installation.call(shell).exit_code == 2);
    CHECK(installation.db.value("SELECT count(*) FROM delivery_assignment") == "0");
}

TEST_CASE("ftlctl.webhook: a rotation keeps the old secret beside the new one until it is dropped") {
    const Installation installation;
    REQUIRE(installation.add_webhook("https://a.example/").exit_code == 0);
    const auto txid = installation.db.value("SELECT txid FROM delivery_assignment");
    const std::vector<std::string> set{"destination", "set", "acme", "hook"};
    auto rotate = set;
    rotate.insert(rotate.end(), {"--secret-file", "-"});
    CHECK(installation.call(rotate, kWebhookSecretNew).exit_code == 0);
    CHECK(installation.kinds() == "signing_secret signing_secret_old");
    CHECK(installation.db.value("SELECT txid FROM delivery_assignment") != txid);
    // A third would leave a client behind that still knows the first.
    CHECK(installation.call(rotate, kWebhookSecret).complains("--drop-old-secret"));
    auto drop = set;
    drop.emplace_back("--drop-old-secret");
    CHECK(installation.call(drop).exit_code == 0);
    CHECK(installation.kinds() == "signing_secret");
    CHECK(installation.call(drop).exit_code == 1);
    // A command may give it instead.
    auto command = set;
    command.insert(command.end(), {"--secret-command", "/usr/local/bin/vault-read acme"});
    CHECK(installation.call(command).exit_code == 0);
    CHECK(installation.db.value("SELECT resolve_command FROM delivery_credential WHERE kind = 'signing_secret'") ==
          "/usr/local/bin/vault-read acme");
}

TEST_CASE("ftlctl.webhook: a test reaches the webhook signed and tells what it answered") {
    const Installation installation;
    WebhookClient client;
    REQUIRE(installation.add_webhook(url_of(client)).exit_code == 0);
    const std::vector<std::string> test{"destination", "test", "acme", "hook"};
    const auto answer = installation.call(test);
    CHECK(answer.exit_code == 0);
    CHECK(answer.says("status=204"));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].event == "test");
    CHECK(seen[0].is_signed);
    client.set_script("*: status=403");
    CHECK(wait_until([&] {
        const auto refused = installation.call(test);
        return refused.exit_code == 1 && refused.complains("the answer is 403");
    }));
    CHECK(installation.db.value("SELECT count(*) FROM delivery_attempt") == "0");
    CHECK(installation.db.value("SELECT count(*) > 1 FROM audit_log WHERE action = 'destination test'") == "t");
}

TEST_CASE("ftlctl.webhook: nothing is tried past the fence or with deliver.enabled off") {
    const Installation installation;
    const WebhookClient client;
    REQUIRE(installation.add_webhook(url_of(client)).exit_code == 0);
    const std::vector<std::string> test{"destination", "test", "acme", "hook"};
    CHECK(run_ftlctl(installation.db.uri(), test).complains("deliver.enabled"));
    auto fenced = test;
    fenced.insert(fenced.end(),
                  {"--deliver.enabled", "true", "--deliver.master_key_file", (installation.folder / "key").string()});
    CHECK(run_ftlctl(installation.db.uri(), fenced).complains("outside the fence"));
    CHECK(client.requests().empty());
}

TEST_CASE("ftlctl.destination: a test of a folder writes and removes a temporary file and tells what is wrong") {
    const Installation installation;
    std::filesystem::create_directory(installation.folder / "out");
    REQUIRE(installation
                .call({"destination", "add", "acme", "main", "--transport", "directory", "--folder",
                       (installation.folder / "out").string()})
                .exit_code == 0);
    const std::vector<std::string> test{"destination", "test", "acme", "main"};
    auto as_json = test;
    as_json.emplace_back("--json");
    CHECK(installation.call(as_json).says("\"takes_files\":true"));
    CHECK(std::filesystem::is_empty(installation.folder / "out"));
    std::filesystem::remove(installation.folder / "out");
    CHECK(installation.call(test).complains("ENOENT"));
    CHECK(installation.call({"destination", "test", "acme", "none"}).exit_code == 1);
}

TEST_CASE("ftlctl.destination: send delivers the newest version once more with a proof and an id of its own") {
    const Installation installation;
    const DeliverWorld world;
    const WebhookClient client;
    const auto call = [&](const std::vector<std::string>& args, const std::string& input = "") {
        auto all = args;
        all.insert(all.end(), {"--deliver.master_key_file", (installation.folder / "key").string()});
        return run_ftlctl(world.db.uri(), all, input);
    };
    REQUIRE(call({"destination", "add", "acme", "hook", "--transport", "webhook", "--url", url_of(client),
                  "--secret-file", (installation.folder / "secret").string()})
                .exit_code == 0);
    auto settings = quick_settings();
    settings.allowed_hosts = {"127.0.0.1"};
    settings.master_key_file = (installation.folder / "key").string();
    world.publish("wc/calendar", "body");
    world.publish("wc/scorers", "other");
    const RunningDispatcher dispatcher(world, settings);
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    CHECK(call({"destination", "send", "acme", "hook", "wc/calendar"}).exit_code == 0);
    REQUIRE(wait_until([&] { return world.proofs() == 3; }));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 3);
    CHECK(seen[2].path == "wc/calendar");
    CHECK(seen[2].id.ends_with("-1"));
    CHECK_FALSE(seen[2].is_repeated);
    CHECK(world.db.value("SELECT string_agg(occasion::text, ' ' ORDER BY id) FROM delivery_attempt "
                         "WHERE doc_key = 'wc/calendar'") == "0 1");
    CHECK(world.owed() == 0);
    CHECK(call({"destination", "send", "acme", "hook", "wc/nothing"}).exit_code == 1);
    CHECK(call({"destination", "send", "acme", "hook", "Not A Key"}).exit_code == 2);
    world.db.exec("UPDATE delivery_assignment SET feed_types = '{scorers}'");
    CHECK(call({"destination", "send", "acme", "hook", "wc/calendar"}).complains("does not want"));
    CHECK(call({"destination", "off", "acme", "hook", "--reason", "x"}).exit_code == 0);
    CHECK(call({"destination", "send", "acme", "hook", "wc/scorers"}).complains("switched off"));
}
