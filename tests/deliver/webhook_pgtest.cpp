// Against a real webhook: `ftl-sim receive --http`, a process that checks signatures by code of its own. What it got is
// read from its own log.

#include <ftlfeed/core/version.hpp>

#include "webhook_world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

TEST_CASE("deliver.webhook: a published version arrives signed with its headers and a whole proof") {
    const WebhookWorld world;
    const WebhookClient client;
    const auto id = world.add_webhook("main", client.port());
    const RunningDispatcher dispatcher(world, world.settings());
    const auto seq = world.publish("wc/calendar", R"({"a":"ä"})");
    REQUIRE(client.holds("wc/calendar", R"({"a":"ä"})"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 1);
    const auto expected = std::to_string(id) + "-wc~calendar-1000-" + std::to_string(seq) + "-1-0";
    CHECK(seen[0].id == expected);
    CHECK(seen[0].path == "wc/calendar");
    CHECK(seen[0].event == "version");
    CHECK(seen[0].is_signed);
    CHECK(seen[0].version == ftlfeed::core::Version{1000, seq, 1}.text());
    CHECK(world.db.value(
              "SELECT receipt || '|' || guarantee || '|' || bytes || '|' || (body_hash = sha256('{\"a\":\"ä\"}')) "
              "FROM delivery_attempt") == "status=204 webhook_id=" + expected + "|acknowledged|10|true");
    CHECK(world.owed() == 0);
}

TEST_CASE("E39: every attempt is signed with all headers and the recorded attempts are those that the receiver saw") {
    const WebhookWorld world;
    const WebhookClient client("1-4: status=500");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 5);
    CHECK(ids_of(seen).size() == 1);
    for (const auto& request : seen) CHECK(request.is_signed);
    CHECK(world.db.value("SELECT string_agg(outcome, ' ' ORDER BY id) FROM delivery_attempt") ==
          "failed failed failed failed delivered");
    // The receiver read each request within the attempt of the same number, on one machine's clock.
    for (std::size_t i = 0; i < seen.size(); ++i) {
        CAPTURE(i);
        CHECK(world.db.value("SELECT '" + seen[i].time +
                             "'::timestamptz BETWEEN date_trunc('milliseconds', started_at) AND ended_at FROM "
                             "delivery_attempt ORDER BY id OFFSET " +
                             std::to_string(i) + " LIMIT 1") == "t");
    }
    // The schedule is the pace's: a full jitter below a ceiling that doubles, here from 20 ms to 160 ms. What is longer is the
    // machine's.
    CHECK(world.db.value(
              "SELECT bool_and(wait BETWEEN interval '0' AND interval '5 seconds') FROM (SELECT started_at - "
              "lag(ended_at) OVER (ORDER BY id) AS wait FROM delivery_attempt) a WHERE wait IS NOT NULL") == "t");
    CHECK(world.db.value("SELECT error LIKE '%the answer is 500%' FROM delivery_attempt LIMIT 1") == "t");
}

TEST_CASE("E41: a redirect is a failure and is not followed") {
    const WebhookWorld world;
    const WebhookClient elsewhere;
    const WebhookClient client("*: status=301 location=http://127.0.0.1:" + std::to_string(elsewhere.port()) + "/");
    world.add_webhook("main", client.port(), ", alert_failures", ", 1");
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.open_alerts("deliver.failing") == 1; }));
    CHECK(world.db.value("SELECT refusal_lasts AND last_error LIKE '%301%' FROM delivery_assignment") == "t");
    CHECK(elsewhere.requests().empty());
    CHECK(world.proofs() == 0);
}

TEST_CASE("E41: 410 switches the destination off with its reason and stays red until somebody switches it on") {
    const WebhookWorld world;
    WebhookClient client("*: status=410");
    world.add_webhook("main", client.port());
    for (const auto* file : {"wc/calendar", "wc/scorers", "wc/standings"}) world.publish(file, "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.open_alerts("deliver.switched_off") == 1; }));
    CHECK(world.db.value("SELECT NOT is_on AND off_reason = 'the receiver answered 410 Gone' AND off_by = 'receiver' "
                         "AND off_at IS NOT NULL FROM delivery_assignment") == "t");
    CHECK(wait_until([&] { return dispatcher.status().destinations == 0; }));
    CHECK(client.requests().size() == 1);
    CHECK(world.open_alerts("deliver.switched_off") == 1);
    CHECK(world.attempts("failed") == 1);
    client.set_script("*: ok");
    world.db.exec("UPDATE delivery_assignment SET is_on = true, off_reason = NULL, off_by = NULL, off_at = NULL");
    CHECK(client.holds("wc/standings", "body"));
    CHECK(wait_until([&] { return world.open_alerts("deliver.switched_off") == 0 && world.proofs() == 3; }));
}

TEST_CASE("E41: 429 with Retry-After 120 is waited out for the whole destination") {
    const WebhookWorld world;
    const WebhookClient client("*: status=429 retry-after=120");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "body");
    world.publish("wc/scorers", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.attempts("failed") == 1; }));
    CHECK(world.db.value(
              "SELECT next_try BETWEEN ended_at + interval '119 seconds' AND ended_at + interval '125 seconds' "
              "FROM delivery_assignment, delivery_attempt") == "t");
    // A newer version is no reason to come back earlier.
    world.publish("wc/calendar", "newer");
    REQUIRE(wait_until([&] { return dispatcher.status().owed_files == 2 && dispatcher.status().threads == 0; }));
    CHECK(client.requests().size() == 1);
}

TEST_CASE("E41: 204 and 200 with a page of HTML are success") {
    const WebhookWorld world;
    const WebhookClient client("1: status=204; 2: status=200 html");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "one");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    world.publish("wc/calendar", "two");
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    CHECK(client.requests().size() == 2);
    CHECK(world.attempts("failed") == 0);
}

TEST_CASE("deliver.webhook: C19 what is in doubt is sent again under the same id until a 2xx and proven once") {
    const WebhookWorld world;
    const WebhookClient client("1: reset; 2: close; 3: cut; 4: hang-after; 5: status=500");
    world.add_webhook("main", client.port(), ", reply_ms", ", 300");
    const auto seq = world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 6);
    CHECK(ids_of(seen).size() == 1);
    CHECK(seen[0].id.find("-" + std::to_string(seq) + "-") != std::string::npos);
    // The receiver had it from the first on, and could tell.
    for (std::size_t i = 1; i < seen.size(); ++i) CHECK((seen[i].is_repeated || seen[i].status == 500));
    CHECK(world.attempts("in_doubt") == 4);
    CHECK(world.attempts("failed") == 1);
    CHECK(world.count("delivery_state WHERE sending_seq IS NOT NULL") == 0);
    CHECK(world.db.value("SELECT failures = 0 AND last_error IS NULL FROM delivery_assignment") == "t");
}

TEST_CASE("deliver.webhook: a newer version takes the place of one in doubt under an id of its own") {
    const WebhookWorld world;
    const WebhookClient client("1: reset");
    world.add_webhook("main", client.port());
    world.db.exec("UPDATE delivery_assignment SET first_retry_ms = 60000, slow_retry_ms = 60000");
    world.publish("wc/calendar", "one");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.attempts("in_doubt") == 1; }));
    world.publish("wc/calendar", "two");
    world.db.exec("UPDATE delivery_assignment SET first_retry_ms = 20");  // Somebody changed something: tried at once.
    CHECK(client.holds("wc/calendar", "two"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    CHECK(ids_of(client.requests()).size() == 2);
}

TEST_CASE("deliver.webhook: while a secret is replaced receivers that know either are served") {
    const WebhookWorld world;
    const WebhookClient old_client("", kWebhookSecret);
    const WebhookClient new_client("", kWebhookSecretNew);
    const auto old_id = world.add_webhook("old", old_client.port());
    const auto new_id = world.add_webhook("new", new_client.port());
    for (const auto id : {old_id, new_id}) {
        world.put_secret(id, "signing_secret_old", kWebhookSecret);
        world.put_secret(id, "signing_secret", kWebhookSecretNew);
    }
    const RunningDispatcher dispatcher(world, world.settings());
    world.publish("wc/calendar", "one");
    CHECK(old_client.holds("wc/calendar", "one"));
    CHECK(new_client.holds("wc/calendar", "one"));
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    // The old one is dropped while it runs: the transport is made anew.
    world.db.exec(
        "DELETE FROM delivery_credential WHERE kind = 'signing_secret_old'; "
        "UPDATE delivery_assignment SET txid = pg_current_xact_id()");
    REQUIRE(wait_until([&] {
        world.publish("wc/calendar", "two " + std::to_string(world.count("feed_version")));
        return world.count("delivery_attempt WHERE outcome = 'failed' AND error LIKE '%401%'") > 0;
    }));
    CHECK(
        wait_until([&] { return !new_client.body("wc/calendar").empty() && new_client.body("wc/calendar") != "one"; }));
}

TEST_CASE("deliver.webhook: without a secret that opens nothing is sent and the reason is told") {
    const WebhookWorld world;
    const WebhookClient client;
    const auto none = world.add_webhook("none", client.port());
    const auto damaged = world.add_webhook("damaged", client.port());
    const auto weak = world.add_webhook("weak", client.port());
    world.db.exec("DELETE FROM delivery_credential WHERE assignment_id = " + std::to_string(none));
    world.db.exec(
        "UPDATE delivery_credential SET ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1) "
        "WHERE assignment_id = " +
        std::to_string(damaged));
    world.put_secret(weak, "signing_secret", "whsec_c2hvcnQ=");
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.open_alerts("deliver.failing") == 3; }));
    const auto error = [&](std::int64_t id) {
        return world.db.value("SELECT last_error FROM delivery_assignment WHERE refusal_lasts AND id = " +
                              std::to_string(id));
    };
    CHECK(error(none).find("no signing secret") != std::string::npos);
    CHECK(error(damaged).find("cannot be opened") != std::string::npos);
    CHECK(error(weak).find("has 5 bytes") != std::string::npos);
    CHECK(client.requests().empty());
    // The credential is mended: tried at once.
    world.put_secret(none, "signing_secret", kWebhookSecret);
    CHECK(client.holds("wc/calendar", "body"));
}

TEST_CASE("deliver.webhook: a secret that a program prints signs and a program that is not listed is not run") {
    const WebhookWorld world;
    const WebhookClient client;
    const auto id = world.add_webhook("main", client.port());
    const auto program = (world.temp / "program").string();
    write_file(program, "#!/bin/sh\necho " + std::string(kWebhookSecret) + "\n");
    std::filesystem::permissions(program, std::filesystem::perms(0755));
    {
        ftlfeed::store::Session session(world.connection());
        session.write([&](pqxx::transaction_base& tx) {
            ftlfeed::deliver::put_credential_command(tx, {id}, "signing_secret", program + " acme");
        });
    }
    world.publish("wc/calendar", "body");
    {
        const RunningDispatcher dispatcher(world, world.settings());
        REQUIRE(wait_until([&] { return world.open_alerts("deliver.failing") == 1; }));
        CHECK(world.db.value("SELECT last_error LIKE '%deliver.resolve_programs%' FROM delivery_assignment") == "t");
    }
    auto settings = world.settings();
    settings.resolve_programs = {program};
    world.db.exec("UPDATE delivery_assignment SET next_try = NULL");
    const RunningDispatcher dispatcher(world, settings);
    CHECK(client.holds("wc/calendar", "body"));
    CHECK(client.requests().front().is_signed);
}

TEST_CASE("deliver.webhook: what concerns one file stops no other and what concerns all rests all") {
    const WebhookWorld world;
    WebhookClient client("1: status=413");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "too large");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.open_alerts("deliver.file_refused") == 1; }));
    world.publish("wc/scorers", "fine");
    CHECK(client.holds("wc/scorers", "fine"));
    CHECK(client.holds("wc/calendar", "too large"));  // Its own slow pace: 100 ms here.
    CHECK(wait_until([&] { return world.open_alerts("deliver.file_refused") == 0; }));
    world.db.exec("UPDATE delivery_assignment SET slow_retry_ms = 600000");
    client.set_script("*: status=403");
    REQUIRE(wait_until([&] {
        world.publish("wc/calendar", "version " + std::to_string(world.count("feed_version")));
        return world.open_alerts("deliver.failing") == 1;
    }));
    // The first refusals may still have met the settings of before.
    CHECK(wait_until([&] {
        return world.db.value(
                   "SELECT refusal_lasts AND next_try > now() + interval '9 minutes' FROM delivery_assignment") == "t";
    }));
}

TEST_CASE("deliver.webhook: a retired file is told by a message of its own when the destination wants it") {
    const WebhookWorld world;
    const WebhookClient client;
    world.add_webhook("main", client.port(), ", on_retire", ", 'delete'");
    const RunningDispatcher dispatcher(world, world.settings());
    world.publish("wc/timeline/1", "match");
    REQUIRE(client.holds("wc/timeline/1", "match"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    world.retire("wc/timeline/1");
    REQUIRE(wait_until([&] { return world.proofs("deleted") == 1; }));
    const auto seen = client.requests();
    REQUIRE(seen.size() == 2);
    CHECK(seen[1].event == "retired");
    CHECK(seen[1].path == "wc/timeline/1");
    CHECK(seen[1].is_signed);
    CHECK(seen[1].id != seen[0].id);
    CHECK(seen[1].version > seen[0].version);
    CHECK(client.body("wc/timeline/1").empty());
}

TEST_CASE("deliver.webhook: silent and slow receivers end within their limits") {
    const WebhookWorld world;
    const WebhookClient client("1: hang-after; 2: drip=100 status=200 body=1000; *: hang-before");
    world.add_webhook("main", client.port(), ", bytes_ms, reply_ms, bytes_per_second_min", ", 400, 400, 0");
    world.publish("wc/calendar", "small");
    const RunningDispatcher dispatcher(world, world.settings());
    constexpr auto kNoAnswer =
        "delivery_attempt WHERE outcome = 'in_doubt' AND error LIKE '%no whole answer within 400 ms%'";
    REQUIRE(wait_until([&] { return world.count(kNoAnswer) >= 2; }, 20s));
    // Larger than what the two kernels buffer: it takes somebody who reads.
    world.publish("wc/calendar", "\"" + std::string(std::size_t{24} << 20, 'x') + "\"");
    constexpr auto kSlow =
        "delivery_attempt WHERE outcome = 'failed' AND error LIKE '%the bytes took longer than 400 ms%'";
    REQUIRE(wait_until([&] { return world.count(kSlow) >= 1; }, 20s));
    CHECK(world.proofs() == 0);
    CHECK(world.count("delivery_attempt WHERE ended_at - started_at > interval '5 seconds'") == 0);
}

TEST_CASE("deliver.webhook: a hanging receiver delays nobody") {
    const WebhookWorld world;
    const WebhookClient hanging("*: hang-after");
    const WebhookClient well;
    world.add_webhook("hanging", hanging.port());
    world.add_webhook("well", well.port());
    world.add_destination("folder");
    const RunningDispatcher dispatcher(world, world.settings());
    for (int i = 0; i < 5; ++i) {
        const auto body = "version " + std::to_string(i);
        world.publish("wc/calendar", body);
        REQUIRE(well.holds("wc/calendar", body));
        REQUIRE(holds(world.folder("folder") / "wc/calendar.json", body));
    }
    CHECK(hanging.requests().size() == 1);
}

TEST_CASE("deliver.webhook: endless headers and answers of a hostile receiver are refused in bounded time") {
    const WebhookWorld world;
    const WebhookClient client("1: headers=2000000 status=200; 2: body=5000000 status=200");
    world.add_webhook("main", client.port());
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    CHECK(world.attempts("in_doubt") == 2);
    CHECK(ids_of(client.requests()).size() == 1);
}

TEST_CASE("deliver.webhook: a line break in URL or content type breaks no request and is refused where it belongs") {
    const WebhookWorld world;
    const WebhookClient client;
    world.add_webhook("url", client.port());
    const auto well = world.add_webhook("well", client.port());
    world.db.exec("UPDATE delivery_assignment SET url_path = E'/in\\r\\nX-Evil: 1' WHERE name = 'url'");
    world.publish("wc/calendar", "fine");
    world.publish("wc/scorers", "poison");
    world.db.exec(
        "UPDATE feed_document SET content_type = E'text/plain\\r\\nftl-file: wc/calendar' WHERE doc_key = "
        "'wc/scorers'");
    const RunningDispatcher dispatcher(world, world.settings());
    CHECK(client.holds("wc/calendar", "fine"));
    REQUIRE(wait_until(
        [&] { return world.open_alerts("deliver.failing") == 1 && world.open_alerts("deliver.file_refused") == 1; }));
    CHECK(world.db.value("SELECT last_error LIKE '%webhook URL%' FROM delivery_assignment WHERE name = 'url'") == "t");
    CHECK(world.db.value("SELECT refusal_lasts FROM delivery_state WHERE doc_key = 'wc/scorers' AND assignment_id = " +
                         std::to_string(well)) == "t");
    CHECK(client.requests().size() == 1);
}

TEST_CASE("deliver.webhook: no error shows the path or query of the URL") {
    const WebhookWorld world;
    const WebhookClient client("*: status=500");
    world.add_webhook("main", client.port(), ", alert_failures", ", 1");
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(wait_until([&] { return world.open_alerts("deliver.failing") == 1; }));
    CHECK(world.count("delivery_attempt WHERE error LIKE '%hunter2%'") == 0);
    CHECK(world.count("delivery_assignment WHERE last_error LIKE '%hunter2%'") == 0);
    CHECK(world.count("alert WHERE message LIKE '%hunter2%'") == 0);
}

TEST_CASE("deliver.webhook: another URL is another receiver and gets every file") {
    const WebhookWorld world;
    const WebhookClient first;
    const WebhookClient second;
    world.add_webhook("main", first.port());
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world, world.settings());
    REQUIRE(first.holds("wc/calendar", "body"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    world.db.exec("UPDATE delivery_assignment SET port = " + std::to_string(second.port()));
    CHECK(second.holds("wc/calendar", "body"));
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    world.db.exec("UPDATE delivery_assignment SET url_path = '/other'");
    CHECK(wait_until([&] { return second.requests().size() == 2; }));
}
