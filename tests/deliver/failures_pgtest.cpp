#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/deliver/directory_transport.hpp>

#include "fake_transport.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
namespace core = ftlfeed::core;

namespace {

std::int64_t open_alerts(const DeliverWorld& world, const std::string& kind) {
    return world.count("alert WHERE cleared_at IS NULL AND kind = '" + kind + "'");
}

}  // namespace

TEST_CASE("deliver: a missing folder is tried again and alerts at the third failure and clears when it recovers") {
    const DeliverWorld world;
    world.add_destination("main");
    std::filesystem::remove(world.folder("main"));
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.failing") == 1; }));
    CHECK(world.count("delivery_attempt WHERE outcome = 'failed'") >= 3);
    CHECK(
        world.db.value(
            "SELECT last_error LIKE '%ENOENT%' AND failures >= 3 AND next_try IS NOT NULL FROM delivery_assignment") ==
        "t");
    // Each try sets it and each failure takes it back: between two tries it is empty.
    CHECK(wait_until([&] { return world.count("delivery_state WHERE sending_seq IS NOT NULL") == 0; }));
    std::filesystem::create_directory(world.folder("main"));
    CHECK(holds(world.folder("main") / "wc/calendar.json", "body"));
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.failing") == 0; }));
    CHECK(world.db.value("SELECT failures = 0 AND next_try IS NULL AND last_error IS NULL FROM delivery_assignment") ==
          "t");
    CHECK(world.count("alert WHERE kind = 'deliver.failing'") == 1);
}

TEST_CASE("deliver: a failing destination delays no other") {
    const DeliverWorld world;
    world.add_destination("broken");
    world.add_destination("well");
    std::filesystem::remove(world.folder("broken"));
    const RunningDispatcher dispatcher(world);
    for (int i = 0; i < 5; ++i) {
        world.publish("wc/calendar", "version " + std::to_string(i));
        REQUIRE(holds(world.folder("well") / "wc/calendar.json", "version " + std::to_string(i)));
    }
}

TEST_CASE("deliver: a folder that is none is red at the first failure and stays on the slow pace") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    write_file(world.temp / "plain", "not a folder");
    world.db.exec("UPDATE delivery_assignment SET folder = '" + (world.temp / "plain").string() +
                  "', slow_retry_ms = 600000 WHERE id = " + id);
    world.publish("wc/calendar", "body");
    world.publish("wc/scorers", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.failing") == 1; }));
    CHECK(world.db.value("SELECT failures = 1 AND refusal_lasts AND last_error LIKE '%ENOTDIR%' "
                         "AND next_try > now() + interval '9 minutes' FROM delivery_assignment") == "t");
    // No newer version knocks earlier, and the second file is not even tried.
    world.publish("wc/calendar", "newer");
    REQUIRE(wait_until([&] { return dispatcher.status().owed_files == 2 && dispatcher.status().threads == 0; }));
    CHECK(world.count("delivery_attempt") == 1);
    // A person mends it: tried at once.
    world.db.exec("UPDATE delivery_assignment SET folder = '" + world.folder("main").string() + "' WHERE id = " + id);
    CHECK(holds(world.folder("main") / "wc/calendar.json", "newer"));
    CHECK(wait_until([&] { return open_alerts(world, "deliver.failing") == 0; }));
}

TEST_CASE("deliver: a poison file stops no other and its alert clears when it is taken") {
    const DeliverWorld world;
    world.add_destination("main");
    // A folder stands where the file must go.
    std::filesystem::create_directories(world.folder("main") / "wc/calendar.json/x");
    world.publish("wc/calendar", "poison");
    world.publish("wc/scorers", "fine");
    const RunningDispatcher dispatcher(world);
    CHECK(holds(world.folder("main") / "wc/scorers.json", "fine"));
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.file_refused") == 1; }));
    CHECK(world.db.value("SELECT failures FROM delivery_assignment") == "0");
    CHECK(world.db.value(
              "SELECT last_error LIKE '%EISDIR%' OR last_error LIKE '%ENOTEMPTY%' OR last_error LIKE '%EEXIST%' "
              "FROM delivery_state WHERE doc_key = 'wc/calendar'") == "t");
    CHECK(world.db.value("SELECT subject FROM alert WHERE kind = 'deliver.file_refused'") == "acme/main wc/calendar");
    std::filesystem::remove_all(world.folder("main") / "wc/calendar.json");
    CHECK(holds(world.folder("main") / "wc/calendar.json", "poison"));
    CHECK(wait_until([&] { return open_alerts(world, "deliver.file_refused") == 0; }));
}

TEST_CASE("deliver: a name template that leaves the folder writes nothing and says so") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    world.db.exec("UPDATE delivery_assignment SET name_template = '../{event}.json' WHERE id = " + id);
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.failing") == 1; }));
    CHECK(world.db.value("SELECT refusal_lasts AND last_error LIKE '%../%' FROM delivery_assignment") == "t");
    CHECK_FALSE(std::filesystem::exists(world.temp / "wc.json"));
    CHECK(world.count("delivery_state WHERE sending_seq IS NOT NULL") == 0);
}

TEST_CASE("deliver: a transport that is not built in or a host outside the fence fails with its reason") {
    const DeliverWorld world;
    const auto carrier = std::to_string(world.add_destination("carrier"));
    const auto fenced = std::to_string(world.add_destination("fenced"));
    world.db.exec("UPDATE delivery_assignment SET transport = 'pigeon' WHERE id = " + carrier);
    world.db.exec("UPDATE delivery_assignment SET host = 'ftp.example.com' WHERE id = " + fenced);
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.failing") == 2; }));
    CHECK(world.db.value("SELECT last_error LIKE '%pigeon%directory%' FROM delivery_assignment WHERE id = " +
                         carrier) == "t");
    CHECK(world.db.value("SELECT last_error LIKE '%outside the fence%' FROM delivery_assignment WHERE id = " +
                         fenced) == "t");
}

TEST_CASE("deliver: a stored body that is damaged is that file's trouble alone") {
    const DeliverWorld world;
    world.add_destination("main");
    world.publish("wc/calendar", "damaged");
    world.publish("wc/scorers", "fine");
    world.db.exec("UPDATE feed_document SET body_hash = sha256('other') WHERE doc_key = 'wc/calendar'");
    const RunningDispatcher dispatcher(world);
    CHECK(holds(world.folder("main") / "wc/scorers.json", "fine"));
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.file_refused") == 1; }));
    CHECK_FALSE(std::filesystem::exists(world.folder("main") / "wc/calendar.json"));
}

TEST_CASE("deliver: C20 a next try in the far future is capped when it is loaded") {
    const DeliverWorld world;
    world.add_destination("main", ", failures, next_try", ", 9, now() + interval '1 year'");
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    CHECK(holds(world.folder("main") / "wc/calendar.json", "body"));
}

TEST_CASE("deliver: a destination that is behind raises an alert and clears it when it has caught up") {
    const DeliverWorld world;
    world.add_destination("main", ", alert_behind_ms", ", 200");
    std::filesystem::remove(world.folder("main"));
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(wait_until([&] { return open_alerts(world, "deliver.behind") == 1; }));
    std::filesystem::create_directory(world.folder("main"));
    CHECK(wait_until([&] { return open_alerts(world, "deliver.behind") == 0; }));
    CHECK(world.count("alert WHERE kind = 'deliver.behind'") == 1);
}

TEST_CASE("deliver: switching a red destination off clears its alerts") {
    const DeliverWorld world;
    world.add_destination("main", ", alert_behind_ms", ", 200");
    std::filesystem::remove(world.folder("main"));
    world.publish("wc/calendar", "body");
    const RunningDispatcher dispatcher(world);
    REQUIRE(
        wait_until([&] { return open_alerts(world, "deliver.behind") + open_alerts(world, "deliver.failing") == 2; }));
    world.db.exec(
        "UPDATE delivery_assignment SET is_on = false, off_reason = 'moving', off_by = 'ops', off_at = now()");
    CHECK(wait_until([&] { return world.count("alert WHERE cleared_at IS NULL") == 0; }));
}

TEST_CASE("deliver: a hundred hanging destinations delay no other") {
    const DeliverWorld world;
    const auto well = world.add_destination("well");
    for (int i = 0; i < 100; ++i) world.add_destination("hanging" + std::to_string(i));
    Gate gate;
    const auto& clock = core::Clock::real();
    {
        const RunningDispatcher dispatcher(world, quick_settings(), [&](const DestinationSettings& settings) {
            std::unique_ptr<Transport> made;
            if (settings.id.value == well) {
                made = std::make_unique<DirectoryTransport>(settings.folder, settings.id, clock);
            } else {
                made = std::make_unique<HangingTransport>(gate);
            }
            return made;
        });
        world.publish("wc/calendar", "first");
        REQUIRE(wait_until([&] { return gate.waiting() == 100; }, 30s));
        CHECK(dispatcher.status().threads >= 100);
        for (int i = 0; i < 10; ++i) {
            world.publish("wc/calendar", "version " + std::to_string(i));
            REQUIRE(holds(world.folder("well") / "wc/calendar.json", "version " + std::to_string(i)));
        }
        CHECK(gate.waiting() == 100);
        gate.open();
    }
    CHECK(world.db.value("SELECT count(*) FROM delivery_state WHERE sent_seq > 0") == "1");
}

TEST_CASE("deliver: nearing the cap of threads raises an alert and work waits for a free one") {
    const DeliverWorld world;
    for (int i = 0; i < 3; ++i) world.add_destination("d" + std::to_string(i));
    Gate gate;
    auto settings = quick_settings();
    settings.threads_max = 2;
    const RunningDispatcher dispatcher(world, settings, hooked_directories({.before_put = [&] { gate.wait(); }}));
    world.publish("wc/calendar", "body");
    REQUIRE(wait_until([&] { return gate.waiting() == 2; }));
    CHECK(wait_until([&] { return open_alerts(world, "deliver.threads") == 1; }));
    gate.open();
    for (int i = 0; i < 3; ++i) CHECK(holds(world.folder("d" + std::to_string(i)) / "wc/calendar.json", "body"));
    CHECK(wait_until([&] { return open_alerts(world, "deliver.threads") == 0; }));
}

TEST_CASE("deliver: a destination that is switched off during a send publishes nothing") {
    const DeliverWorld world;
    world.add_destination("main");
    Gate gate;
    const RunningDispatcher dispatcher(world, quick_settings(),
                                       hooked_directories({.before_publish = [&] { gate.wait(); }}));
    world.publish("wc/calendar", "body");
    REQUIRE(wait_until([&] { return gate.waiting() == 1; }));
    world.db.exec("UPDATE delivery_assignment SET is_on = false, off_reason = 'stop', off_by = 'ops', off_at = now()");
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 0; }));
    gate.open();
    REQUIRE(wait_until([&] { return world.count("delivery_state WHERE sending_seq IS NULL") == 1; }));
    CHECK(std::filesystem::is_empty(world.folder("main") / "wc"));  // No temporary file either.
    CHECK(world.proofs() == 0);
}

TEST_CASE("deliver: a stop lets the send under way finish and gives the lease back") {
    const DeliverWorld world;
    world.add_destination("main");
    Gate gate;
    RunningDispatcher dispatcher(world, quick_settings(), hooked_directories({.before_put = [&] { gate.wait(); }}));
    world.publish("wc/calendar", "body");
    REQUIRE(wait_until([&] { return gate.waiting() == 1; }));
    std::jthread stopper([&] { dispatcher.stop(); });
    REQUIRE(wait_until([&] { return dispatcher.status().reason == "stopping"; }));
    gate.open();
    stopper.join();
    CHECK(content(world.folder("main") / "wc/calendar.json") == "body");
    CHECK(world.proofs() == 1);
    CHECK(world.db.value("SELECT holder FROM lease WHERE name = 'deliver:main'").empty());
}
