#include <ftlfeed/deliver/dispatcher.hpp>

#include <sys/stat.h>

#include <set>

#include "world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

std::uint64_t inode(const std::filesystem::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_ino;
}

}  // namespace

TEST_CASE("deliver: a published version lies in the client's folder with a whole proof") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    const std::string body = R"({"event":"wc","fixtures":[]})";
    world.publish("wc/calendar", body);
    const RunningDispatcher dispatcher(world);
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", body));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    const auto row = world.db.exec(
        "SELECT sent_hash = sha256('" + body +
        "'), sent_bytes, sent_path, receipt, guarantee, age_ms BETWEEN 0 AND 60000, "
        "staleness_ms = age_ms, sending_seq IS NULL, pg_typeof(age_ms) FROM delivery_state WHERE assignment_id = " +
        std::to_string(id))[0];
    CHECK(row[0].as<bool>());
    CHECK(row[1].as<std::size_t>() == body.size());
    CHECK(row[2].as<std::string>() == "wc/calendar.json");
    CHECK(row[3].as<std::string>().starts_with("inode=" +
                                               std::to_string(inode(world.folder("main") / "wc/calendar.json"))));
    CHECK(row[4].as<std::string>() == "atomic_replace");
    CHECK(row[5].as<bool>());
    CHECK(row[6].as<bool>());
    CHECK(row[7].as<bool>());
    CHECK(row[8].as<std::string>() == "bigint");
    CHECK(world.proofs() == 1);
}

TEST_CASE("deliver: fifty versions in a row end with the newest and each proof has its rename") {
    const DeliverWorld world;
    world.add_destination("main");
    const RunningDispatcher dispatcher(world);
    for (int i = 1; i <= 50; ++i) world.publish("wc/calendar", "version " + std::to_string(i));
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "version 50"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.proofs() <= 50);
    CHECK(world.db.value("SELECT bool_and(body_hash IS NOT NULL) FROM delivery_attempt") == "t");
    CHECK(world.db.value("SELECT body_hash = sha256('version 50') FROM delivery_attempt ORDER BY id DESC LIMIT 1") ==
          "t");
}

TEST_CASE("deliver: C11 a document whose transaction commits late is delivered though a newer seq was seen before") {
    const DeliverWorld world;
    world.add_destination("main");
    const RunningDispatcher dispatcher(world);
    auto late = world.db.connect();
    {
        pqxx::work early_seq(late);
        early_seq.exec(DeliverWorld::publish_sql("wc/medals", "late", 1, "clock_timestamp()", false));
        early_seq.exec("NOTIFY ftl_document");
        world.db.exec("SELECT setval('version_seq', 10)");
        world.publish("wc/live", "early");
        REQUIRE(holds(world.folder("main") / "wc/live.json", "early"));
        REQUIRE(wait_until([&] { return world.proofs() == 1; }));
        early_seq.commit();
    }
    CHECK(holds(world.folder("main") / "wc/medals.json", "late"));
}

TEST_CASE("deliver: a version that nobody notified is found by the poll") {
    const DeliverWorld world;
    world.add_destination("main");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return dispatcher.status().is_ready; }));
    world.publish("wc/calendar", "silent", false);
    CHECK(holds(world.folder("main") / "wc/calendar.json", "silent"));
}

TEST_CASE("deliver: a NOTIFY is followed at once and not only by the poll") {
    const DeliverWorld world;
    world.add_destination("main");
    auto settings = quick_settings();
    settings.poll_interval = 10s;
    const RunningDispatcher dispatcher(world, settings);
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 1; }));
    world.publish("wc/calendar", "first");
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "first"));
    const auto start = std::chrono::steady_clock::now();
    world.publish("wc/calendar", "second");
    CHECK(holds(world.folder("main") / "wc/calendar.json", "second"));
    CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("deliver: a version with the bytes that were sent is delivered-equal without a send and not owed") {
    const DeliverWorld world;
    world.add_destination("main");
    const RunningDispatcher dispatcher(world);
    world.publish("wc/calendar", "same");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    const auto before = inode(world.folder("main") / "wc/calendar.json");
    const auto seq = world.publish("wc/calendar", "same");
    REQUIRE(wait_until([&] { return world.proofs("delivered_equal") == 1; }));
    CHECK(inode(world.folder("main") / "wc/calendar.json") == before);
    CHECK(world.owed() == 0);
    CHECK(world.db.value("SELECT sent_seq FROM delivery_state") == std::to_string(seq));
    CHECK(world.proofs() == 1);
}

TEST_CASE("deliver: events and feed types of a destination are a filter") {
    const DeliverWorld world;
    world.add_destination("narrow", ", events, feed_types", ", '{wc}', '{calendar,scorers}'");
    world.publish("wc/calendar", "a");
    world.publish("wc/standings", "b");
    world.publish("euro/calendar", "c");
    const RunningDispatcher dispatcher(world);
    world.publish("wc/scorers", "d");
    world.publish("euro/scorers", "e");
    REQUIRE(holds(world.folder("narrow") / "wc/scorers.json", "d"));
    REQUIRE(holds(world.folder("narrow") / "wc/calendar.json", "a"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.proofs() == 2);
    CHECK_FALSE(std::filesystem::exists(world.folder("narrow") / "euro"));
}

TEST_CASE("deliver: a destination that is off gets nothing and after switch-on the newest alone") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    const RunningDispatcher dispatcher(world);
    world.publish("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    CHECK_THROWS(world.db.exec("UPDATE delivery_assignment SET is_on = false WHERE id = " + id));
    world.db.exec(
        "UPDATE delivery_assignment SET is_on = false, off_reason = 'maintenance', off_by = 'ops', "
        "off_at = clock_timestamp() WHERE id = " +
        id);
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 0; }));
    world.publish("wc/calendar", "two");
    world.publish("wc/calendar", "three");
    world.db.exec("UPDATE delivery_assignment SET is_on = true WHERE id = " + id);
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "three"));
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    CHECK(world.owed() == 0);
}

TEST_CASE("deliver: a client that is switched off gets nothing on any destination") {
    const DeliverWorld world;
    world.add_destination("a");
    world.add_destination("b");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 2; }));
    world.db.exec("UPDATE delivery_client SET is_on = false, off_reason = 'unpaid', off_by = 'ops', off_at = now()");
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 0; }));
    world.db.exec("UPDATE delivery_client SET is_on = true");
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 2; }));
}

TEST_CASE("deliver: a new name template sends every file under its new name") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    const RunningDispatcher dispatcher(world);
    world.publish("wc/calendar", "body");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    world.db.exec("UPDATE delivery_assignment SET name_template = '{feed_type}-{event}{/filter}.json' WHERE id = " +
                  id);
    CHECK(holds(world.folder("main") / "calendar-wc.json", "body"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.db.value("SELECT sent_render FROM delivery_state") == "2");
}

TEST_CASE("deliver: a new folder gets every file again though the bytes are equal") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    std::filesystem::create_directories(world.folder("other"));
    const RunningDispatcher dispatcher(world);
    world.publish("wc/calendar", "body");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    world.db.exec("UPDATE delivery_assignment SET folder = '" + world.folder("other").string() + "' WHERE id = " + id);
    CHECK(holds(world.folder("other") / "wc/calendar.json", "body"));
}

TEST_CASE("deliver: a retired file is deleted or kept as the destination has it set") {
    const DeliverWorld world;
    world.add_destination("keeps");
    world.add_destination("deletes", ", on_retire", ", 'delete'");
    const RunningDispatcher dispatcher(world);
    world.publish("wc/timeline/1", "match");
    REQUIRE(holds(world.folder("keeps") / "wc/timeline/1.json", "match"));
    REQUIRE(holds(world.folder("deletes") / "wc/timeline/1.json", "match"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    world.retire("wc/timeline/1");
    REQUIRE(wait_until([&] { return world.owed() == 0 && world.proofs("kept") + world.proofs("deleted") == 2; }));
    CHECK(content(world.folder("keeps") / "wc/timeline/1.json") == "match");
    CHECK_FALSE(std::filesystem::exists(world.folder("deletes") / "wc/timeline/1.json"));
    // Born again with the same bytes: the receiver that deleted it gets it again.
    world.publish("wc/timeline/1", "match");
    CHECK(holds(world.folder("deletes") / "wc/timeline/1.json", "match"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.proofs("delivered_equal") == 1);
}

TEST_CASE("deliver: staleness counts from the oldest change that waited and age from the one that was sent") {
    const DeliverWorld world;
    world.add_destination("main");
    world.publish("wc/calendar", "first");
    {
        const RunningDispatcher dispatcher(world);
        REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    }
    world.db.exec(
        DeliverWorld::publish_sql("wc/calendar", "second", 100, "clock_timestamp() - interval '1 hour'", false));
    world.db.exec(DeliverWorld::publish_sql("wc/calendar", "third", 101, "clock_timestamp()", false));
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    CHECK(world.db.value("SELECT age_ms < 600000 AND staleness_ms BETWEEN 3600000 AND 4200000 FROM delivery_state") ==
          "t");
}

TEST_CASE("deliver: C21 an age beyond 24 days is proven like any other") {
    const DeliverWorld world;
    world.add_destination("main");
    world.db.exec(DeliverWorld::publish_sql("wc/calendar", "old", 5, "clock_timestamp() - interval '400 days'", false));
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.db.value("SELECT age_ms > 400::bigint * 86400000 FROM delivery_state") == "t");
    CHECK(world.proofs() == 1);
}

TEST_CASE("deliver: after an epoch move unchanged files move on without a send and recent ones go again") {
    const DeliverWorld world;
    world.add_destination("main");
    world.db.exec(DeliverWorld::publish_sql("wc/old", "old", 5, "clock_timestamp() - interval '2 hours'", false));
    world.db.exec(DeliverWorld::publish_sql("wc/new", "new", 6, "clock_timestamp()", false));
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    const auto old_inode = inode(world.folder("main") / "wc/old.json");
    const auto new_inode = inode(world.folder("main") / "wc/new.json");
    // What store::check_epoch() does at a fail-over.
    world.db.exec("UPDATE feed_document SET epoch = 2000, txid = pg_current_xact_id()");
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(inode(world.folder("main") / "wc/old.json") == old_inode);
    CHECK(inode(world.folder("main") / "wc/new.json") != new_inode);
    CHECK(world.proofs() == 3);
    // The proof keeps the version that was sent.
    CHECK(world.db.value(
              "SELECT string_agg(DISTINCT epoch::text, ',') FROM delivery_attempt WHERE doc_key = 'wc/old'") == "1000");
    CHECK(world.db.value("SELECT sent_epoch FROM delivery_state WHERE doc_key = 'wc/old'") == "2000");
}

TEST_CASE("deliver: lost connections cost nothing") {
    const DeliverWorld world;
    world.add_destination("main");
    const RunningDispatcher dispatcher(world);
    for (int round = 0; round < 5; ++round) {
        world.publish("wc/calendar", "version " + std::to_string(round), round % 2 == 0);
        world.db.exec(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND application_name <> ''");
        REQUIRE(holds(world.folder("main") / "wc/calendar.json", "version " + std::to_string(round)));
    }
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.count("delivery_state WHERE sending_seq IS NOT NULL") == 0);
    CHECK(world.db.value("SELECT count(*) = count(DISTINCT (doc_key, epoch, seq, render)) FROM delivery_attempt "
                         "WHERE outcome = 'delivered'") == "t");
}

TEST_CASE("deliver: a document under an unlawful key stops no other") {
    const DeliverWorld world;
    world.add_destination("main");
    world.db.exec(DeliverWorld::publish_sql("WC/No Such Key", "x", 5, "clock_timestamp()", false));
    const RunningDispatcher dispatcher(world);
    world.db.exec(DeliverWorld::publish_sql("WC/../x", "x", 6, "clock_timestamp()", false));
    world.publish("wc/calendar", "fine");
    CHECK(holds(world.folder("main") / "wc/calendar.json", "fine"));
}

TEST_CASE("deliver: a destination that is added or removed while running is taken up or dropped") {
    const DeliverWorld world;
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return dispatcher.status().is_ready; }));
    const auto id = std::to_string(world.add_destination("later"));
    REQUIRE(holds(world.folder("later") / "wc/calendar.json", "body"));
    world.db.exec("DELETE FROM delivery_assignment WHERE id = " + id);
    CHECK(wait_until([&] { return dispatcher.status().destinations == 0; }));
}
