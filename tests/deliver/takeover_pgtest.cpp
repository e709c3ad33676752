#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/deliver/transport.hpp>

#include <ctime>

#include "deliver/send_record.hpp"
#include "fake_transport.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
namespace core = ftlfeed::core;

namespace {

/// A worker that died while it sent `body` as `wc/calendar`: owner, lease and `sending` are as it left them. What the
/// receiver has of it is up to the test.
void leave_sending(const DeliverWorld& world, std::int64_t id, const std::string& body) {
    const auto seq = world.publish("wc/calendar", body);
    const auto text = std::to_string(id);
    world.db.exec("INSERT INTO lease (name, holder) VALUES ('deliver:dead', 'dead:1:x') ON CONFLICT DO NOTHING");
    world.db.exec("INSERT INTO delivery_owner (assignment_id, worker, fence) VALUES (" + text + ", 'dead', 1)");
    world.db.exec(
        "INSERT INTO delivery_state (assignment_id, doc_key, sending_epoch, sending_seq, sending_render, "
        "sending_since, sending_by, sending_target, sending_path) SELECT a.id, 'wc/calendar', 1000, " +
        std::to_string(seq) +
        ", 1, now(), 'dead:1:x', 'directory|||' || a.folder, 'wc/calendar.json' FROM delivery_assignment a"
        " WHERE a.id = " +
        text);
}

DeliverSettings with_lease_of(milliseconds ttl, const std::string& worker = "main") {
    auto settings = quick_settings();
    settings.lease_ttl = ttl;
    settings.worker = worker;
    return settings;
}

/// What read_facts() and the rest need: a settings value as the table gives it.
DestinationSettings settings_of(const DeliverWorld& world, std::int64_t id) {
    ftlfeed::store::Session session(world.connection());
    return load_destinations(session, {{id}}).at(0).settings;
}

}  // namespace

TEST_CASE("deliver: E11 a version that a dead sender had published is proven by looking and not sent again") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    leave_sending(world, id, "published by the dead");
    write_file(world.folder("main") / "wc/calendar.json", "published by the dead");
    const auto before = std::filesystem::last_write_time(world.folder("main") / "wc/calendar.json");
    const RunningDispatcher dispatcher(world, with_lease_of(500ms));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(std::filesystem::last_write_time(world.folder("main") / "wc/calendar.json") == before);
    CHECK(world.proofs() == 1);
    CHECK(world.db.value("SELECT sending_seq IS NULL AND sent_seq > 0 FROM delivery_state") == "t");
}

TEST_CASE("deliver: C19 an undone rename of equal size is not taken for done") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    leave_sending(world, id, R"({"home":2})");
    write_file(world.folder("main") / "wc/calendar.json", R"({"home":1})");
    const RunningDispatcher dispatcher(world, with_lease_of(500ms));
    CHECK(holds(world.folder("main") / "wc/calendar.json", R"({"home":2})"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    CHECK(world.proofs() == 1);
}

TEST_CASE("deliver: a published version is proven though a newer one is owed already") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    leave_sending(world, id, "old");
    write_file(world.folder("main") / "wc/calendar.json", "old");
    world.publish("wc/calendar", "new");
    const RunningDispatcher dispatcher(world, with_lease_of(500ms));
    CHECK(holds(world.folder("main") / "wc/calendar.json", "new"));
    REQUIRE(wait_until([&] { return world.owed() == 0; }));
    // Two renames were seen by the receiver: two proofs.
    CHECK(world.proofs() == 2);
}

TEST_CASE("deliver: C13 a new owner looks again and sends again when the dead one's bytes arrived after all") {
    const DeliverWorld world;
    // The second look comes after the whole limit: 1.5 s here.
    const auto id = world.add_destination("main", ", connect_ms, bytes_ms, reply_ms", ", 500, 500, 500");
    leave_sending(world, id, "old");
    world.publish("wc/calendar", "new");
    core::Guarded<std::string> sent;
    HookedTransport::Hooks hooks;
    hooks.sees = [&](const Outgoing& file) {
        sent.with([&](std::string& all) {
            all += file.key.doc_key() + " " + std::to_string(file.occasion) + " " +
                   std::string(file.content.content_type) + " " + core::gunzip(file.content.gz, 100) + "\n";
        });
    };
    const RunningDispatcher dispatcher(world, with_lease_of(500ms), hooked_directories(hooks));
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "new"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    write_file(world.folder("main") / "wc/calendar.json", "old");  // TCP delivered it late.
    CHECK(holds(world.folder("main") / "wc/calendar.json", "new"));
    REQUIRE(wait_until([&] { return world.proofs() == 2; }));
    CHECK(world.db.value(
              "SELECT string_agg(occasion::text, ',' ORDER BY id) FROM delivery_attempt WHERE outcome = 'delivered'") ==
          "0,1");
    // Each send knew the number of the proof that it would lead to.
    CHECK(sent.with([](const std::string& all) { return all; }) ==
          "wc/calendar 0 application/json new\nwc/calendar 1 application/json new\n");
    CHECK(world.owed() == 0);
}

TEST_CASE("deliver: a live worker's destinations are not taken and its row does not change") {
    const DeliverWorld world;
    world.add_destination("main");
    world.publish("wc/calendar", "one");
    const RunningDispatcher a(world, with_lease_of(1000ms, "first"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    const auto row = world.db.value("SELECT worker || since || xmin FROM delivery_owner");
    const RunningDispatcher b(world, with_lease_of(1000ms, "second"));
    REQUIRE(wait_until([&] { return b.status().is_ready; }));
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(wait_until([&] { return std::chrono::steady_clock::now() - start > 2500ms; }));
    CHECK(world.db.value("SELECT worker || since || xmin FROM delivery_owner") == row);
    CHECK(b.status().destinations == 0);
}

TEST_CASE("deliver: a worker that went away in order is replaced at once") {
    const DeliverWorld world;
    world.add_destination("main");
    RunningDispatcher a(world, with_lease_of(60s, "first"));
    REQUIRE(wait_until([&] { return a.status().destinations == 1; }));
    const RunningDispatcher b(world, with_lease_of(60s, "second"));
    REQUIRE(wait_until([&] { return b.status().is_ready; }));
    a.stop();
    REQUIRE(wait_until([&] { return b.status().destinations == 1; }));
    world.publish("wc/calendar", "by the second");
    CHECK(holds(world.folder("main") / "wc/calendar.json", "by the second"));
    CHECK(world.db.value("SELECT worker FROM delivery_owner") == "second");
}

TEST_CASE("deliver: a send whose destination moved to another owner publishes nothing") {
    const DeliverWorld world;
    world.add_destination("main");
    Gate gate;
    const RunningDispatcher dispatcher(world, quick_settings(),
                                       hooked_directories({.before_publish = [&] { gate.wait(); }}));
    world.publish("wc/calendar", "by a zombie");
    REQUIRE(wait_until([&] { return gate.waiting() == 1; }));
    world.db.exec("INSERT INTO lease (name, holder) VALUES ('deliver:other', 'other:1:x')");
    world.db.exec("UPDATE delivery_owner SET worker = 'other', fence = 7");
    gate.open();
    REQUIRE(wait_until([&] { return world.count("delivery_state WHERE sending_seq IS NULL") == 1; }));
    CHECK_FALSE(std::filesystem::exists(world.folder("main") / "wc/calendar.json"));
    CHECK(world.proofs() == 0);
}

TEST_CASE("deliver: a send that outlives its lease publishes nothing") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    Gate gate;
    const RunningDispatcher dispatcher(world, with_lease_of(600ms),
                                       hooked_directories({.before_publish = [&] { gate.wait(); }}));
    world.publish("wc/calendar", "late");
    REQUIRE(wait_until([&] { return gate.waiting() == 1; }));
    // Another process took the lease over: it was unmoved for the TTL as far as that one saw.
    world.db.exec(
        "UPDATE lease SET holder = 'other:1:x', fence = fence + 1, beat = beat + 1 WHERE name = 'deliver:main'");
    REQUIRE(wait_until([&] { return !dispatcher.status().is_ready; }));
    gate.open();
    // The other one never moves its lease: we get it back under a new fence, and only then is the file sent.
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "late"));
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    CHECK(world.db.value("SELECT fence = 3 FROM delivery_owner WHERE assignment_id = " + id) == "t");
}

TEST_CASE("deliver: without its lease a worker claims nothing") {
    const DeliverWorld world;
    const AssignmentId id{world.add_destination("main")};
    world.db.exec("INSERT INTO lease (name, holder, fence) VALUES ('deliver:w', 'w:1:x', 3)");
    ftlfeed::store::Session session(world.connection());
    CHECK(claim_free(session, {id}, {"w", 2, "w:1:x"}).empty());
    CHECK(claim_free(session, {id}, {"w", 3, "w:2:x"}).empty());
    CHECK(claim_free(session, {id}, {"w", 3, "w:1:x"}).size() == 1);
    CHECK(claim_free(session, {id}, {"w", 3, "w:1:x"}).empty());
    CHECK(take_over(session, {id}, "w", 3, {"other", 1, "o:1:x"}).empty());
    world.db.exec("INSERT INTO lease (name, holder, fence) VALUES ('deliver:other', 'o:1:x', 1)");
    CHECK(take_over(session, {id}, "w", 2, {"other", 1, "o:1:x"}).empty());
    CHECK(take_over(session, {id}, "w", 3, {"other", 1, "o:1:x"}).size() == 1);
}

TEST_CASE("deliver: a lease that cannot be renewed stops sends and costs no busy loop") {
    const DeliverWorld world;
    world.add_destination("main");
    auto settings = with_lease_of(600ms);
    settings.poll_interval = 200ms;
    settings.look_interval = 200ms;
    const RunningDispatcher dispatcher(world, settings);
    REQUIRE(wait_until([&] { return dispatcher.status().destinations == 1; }));
    auto blocker = world.db.connect();
    {
        pqxx::work hold(blocker);
        hold.exec("SELECT * FROM lease WHERE name = 'deliver:main' FOR UPDATE");
        REQUIRE(wait_until([&] { return !dispatcher.status().is_ready; }));
        world.publish("wc/calendar", "must wait");
        REQUIRE(wait_until([&] { return dispatcher.status().owed_files == 1; }));
        const auto cpu = std::clock();
        const auto start = std::chrono::steady_clock::now();
        REQUIRE(wait_until([&] { return std::chrono::steady_clock::now() - start > 1s; }));
        CHECK(static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC < 0.5);
        CHECK_FALSE(std::filesystem::exists(world.folder("main") / "wc"));
    }
    CHECK(holds(world.folder("main") / "wc/calendar.json", "must wait"));
}

TEST_CASE("deliver: a proof that could not be written is settled by looking and written once") {
    const DeliverWorld world;
    world.add_destination("main");
    std::atomic<int> puts{0};
    const RunningDispatcher dispatcher(
        world, quick_settings(), hooked_directories({.after_put = [&] {
            ++puts;
            // Between the rename and the proof every session of the senders breaks.
            world.db.exec(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name LIKE '% sender' AND datname = current_database()");
            world.db.exec("ALTER TABLE delivery_attempt RENAME TO delivery_attempt_away");
        }}));
    world.publish("wc/calendar", "body");
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "body"));
    REQUIRE(wait_until([&] { return world.db.value("SELECT to_regclass('delivery_attempt') IS NULL") == "t"; }));
    world.db.exec("ALTER TABLE delivery_attempt_away RENAME TO delivery_attempt");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }));
    CHECK(puts == 1);
    CHECK(world.owed() == 0);
}

TEST_CASE("deliver: C21 a zombie's late proof of an older version is refused") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    world.publish("wc/calendar", "812");
    world.publish("wc/calendar", "813");
    {
        const RunningDispatcher dispatcher(world);
        REQUIRE(wait_until([&] { return world.owed() == 0; }));
    }
    const auto before = world.db.value("SELECT s::text FROM delivery_state s");
    const auto settings = settings_of(world, id);
    ftlfeed::store::Session session(world.connection());
    const auto body = std::make_shared<const Body>(Body{"812", std::string(32, 'x'), {}, {}, {}});
    const Sending late{{"wc", "calendar"}, {1000, 1, 1}, {}, {}, {}, {settings.target(), "wc/calendar.json"}, body};
    prove(session, settings, {"main", 1, "zombie:1:x"}, late,
          {ProofKind::kDelivered, {"r", Guarantee::kAtomicReplace}, true});
    CHECK(world.db.value("SELECT s::text FROM delivery_state s") == before);
    CHECK(world.count("delivery_attempt WHERE seq = 1 AND outcome = 'delivered'") <= 1);
    CHECK(world.count("delivery_attempt WHERE body_hash = "
                      "'\\x7878787878787878787878787878787878787878787878787878787878787878'") == 0);
}

TEST_CASE("deliver: a proof that is written twice is one proof and one row") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    const auto seq = world.publish("wc/calendar", "body");
    const auto settings = settings_of(world, id);
    world.db.exec("INSERT INTO delivery_owner (assignment_id, worker, fence) VALUES (" + std::to_string(id) +
                  ", 'w', 1)");
    ftlfeed::store::Session session(world.connection());
    BodyCache bodies(1 << 20);
    const WorkerIdentity us{"w", 1, "w:1:x"};
    const auto begun = begin_send(session, bodies, settings, us, {{"wc", "calendar"}, {}, "wc/calendar.json", false});
    REQUIRE(begun.kind == Begun::Kind::kSend);
    CHECK(begun.sending->version == core::Version{1000, seq, 1});
    CHECK(may_publish(session, {id}, us, *begun.sending));
    CHECK_FALSE(may_publish(session, {id}, {"w", 2, "w:1:x"}, *begun.sending));
    CHECK_FALSE(may_publish(session, {id}, {"w", 1, "w:2:x"}, *begun.sending));
    const Proof proof{ProofKind::kDelivered, {"r", Guarantee::kAtomicReplace}, false};
    prove(session, settings, us, *begun.sending, proof);
    prove(session, settings, us, *begun.sending, proof);
    CHECK(world.proofs() == 1);
    CHECK_FALSE(may_publish(session, {id}, us, *begun.sending));
    const auto again = begin_send(session, bodies, settings, us, {{"wc", "calendar"}, {}, "wc/calendar.json", false});
    CHECK(again.kind == Begun::Kind::kSettled);
}

TEST_CASE("deliver: a file whose last send has no outcome is not begun again before it was settled") {
    const DeliverWorld world;
    const auto id = world.add_destination("main");
    world.publish("wc/calendar", "body");
    const auto settings = settings_of(world, id);
    world.db.exec("INSERT INTO delivery_owner (assignment_id, worker, fence) VALUES (" + std::to_string(id) +
                  ", 'w', 1)");
    ftlfeed::store::Session session(world.connection());
    BodyCache bodies(1 << 20);
    const WorkerIdentity us{"w", 1, "w:1:x"};
    const Wanted wanted{{"wc", "calendar"}, {}, "wc/calendar.json", false};
    const auto begun = begin_send(session, bodies, settings, us, wanted);
    REQUIRE(begun.kind == Begun::Kind::kSend);
    // Committed before the first byte: another session sees it.
    CHECK(world.db.value("SELECT sending_by FROM delivery_state") == "w:1:x");
    CHECK(begin_send(session, bodies, settings, us, wanted).kind == Begun::Kind::kMustSettle);
    withdraw_sending(session, {id}, *begun.sending);
    CHECK(begin_send(session, bodies, settings, us, wanted).kind == Begun::Kind::kSend);
    CHECK(begin_send(session, bodies, settings, {"w", 2, "w:1:x"}, wanted).kind == Begun::Kind::kNotOurs);
    CHECK(begin_send(session, bodies, settings, us, {{"wc", "nothing"}, {}, "x.json", false}).kind ==
          Begun::Kind::kGone);
}
