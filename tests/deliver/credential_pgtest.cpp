#include <ftlfeed/deliver/credential.hpp>

#include <ftlfeed/core/secret.hpp>

#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace ftlfeed::deliver;

namespace {

core::MasterKey master_key(const TempFolder& folder, char digit) {
    const auto path = folder / (std::string("key-") + digit);
    write_file(path, std::string(64, digit) + "\n");
    return core::read_master_key(path.string());
}

}  // namespace

TEST_CASE("deliver.credential: what was put is read again and its text is nowhere in the table") {
    const DeliverWorld world;
    const AssignmentId id{world.add_destination("main")};
    const auto key = master_key(world.temp, 'a');
    store::Session session(world.connection());
    put_credential(session, id, "password", core::Secret("correct horse"), key);
    put_credential(session, id, "password", core::Secret("battery staple"), key);
    put_credential(session, id, "private_key", core::Secret("-----BEGIN"), key);
    const auto credentials = read_credentials(session, id, key);
    REQUIRE(credentials.size() == 2);
    CHECK(credentials[0].kind == "password");
    CHECK(credentials[0].secret.reveal() == "battery staple");
    CHECK(credentials[0].trouble.empty());
    CHECK(credentials[1].secret.reveal() == "-----BEGIN");
    CHECK(world.count(
              "delivery_credential c WHERE position('staple'::bytea IN c.ciphertext) > 0 OR c::text LIKE '%staple%'") ==
          0);
}

TEST_CASE("deliver.credential: one unreadable row fails alone") {
    const DeliverWorld world;
    const AssignmentId id{world.add_destination("main")};
    const auto key = master_key(world.temp, 'a');
    store::Session session(world.connection());
    for (const char* kind : {"a", "b", "c", "d"}) put_credential(session, id, kind, core::Secret("secret"), key);
    world.db.exec(
        "UPDATE delivery_credential SET ciphertext = set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1) WHERE kind = "
        "'a'");
    world.db.exec("UPDATE delivery_credential SET ciphertext = substr(ciphertext, 1, 3) WHERE kind = 'b'");
    put_credential(session, id, "c", core::Secret("secret"), master_key(world.temp, 'b'));
    const auto credentials = read_credentials(session, id, key);
    REQUIRE(credentials.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) {
        CAPTURE(i);
        CHECK_FALSE(credentials[i].trouble.empty());
        CHECK(credentials[i].secret.is_empty());
        CHECK(credentials[i].trouble.find("secret") == std::string::npos);
    }
    CHECK(credentials[3].secret.reveal() == "secret");
}

TEST_CASE("deliver.credential: a row copied to another place does not open") {
    const DeliverWorld world;
    const AssignmentId mine{world.add_destination("mine")};
    const AssignmentId theirs{world.add_destination("theirs")};
    const auto key = master_key(world.temp, 'a');
    store::Session session(world.connection());
    put_credential(session, mine, "password", core::Secret("mine"), key);
    put_credential(session, theirs, "password", core::Secret("theirs"), key);
    world.db.exec(
        "UPDATE delivery_credential t SET nonce = m.nonce, ciphertext = m.ciphertext FROM delivery_credential m "
        "WHERE t.assignment_id = " +
        std::to_string(theirs.value) + " AND m.assignment_id = " + std::to_string(mine.value));
    const auto stolen = read_credentials(session, theirs, key);
    REQUIRE(stolen.size() == 1);
    CHECK_FALSE(stolen[0].trouble.empty());
    CHECK(stolen[0].secret.is_empty());
}

TEST_CASE("deliver.credential: a changed credential is a change of the destination's settings") {
    const DeliverWorld world;
    const AssignmentId id{world.add_destination("main")};
    store::Session session(world.connection());
    const auto before = world.db.value("SELECT txid FROM delivery_assignment");
    put_credential(session, id, "password", core::Secret("x"), master_key(world.temp, 'a'));
    CHECK(world.db.value("SELECT txid FROM delivery_assignment") != before);
}

TEST_CASE("deliver.attempts: trimming spares the proof of what a receiver holds now") {
    const DeliverWorld world;
    const auto id = std::to_string(world.add_destination("main"));
    const auto add = [&](int seq, const char* outcome, const char* age) {
        world.db.exec(
            "INSERT INTO delivery_attempt (assignment_id, doc_key, epoch, seq, render, outcome, worker, started_at, "
            "ended_at) "
            "VALUES (" +
            id + ", 'wc/calendar', 1, " + std::to_string(seq) + ", 1, '" + outcome +
            "', 'w', now(), now() - interval '" + age + "')");
    };
    add(1, "delivered", "200 days");
    add(2, "failed", "200 days");
    add(2, "failed", "1 hour");
    add(2, "delivered", "199 days");
    add(3, "delivered_equal", "198 days");
    store::Session session(world.connection());
    CHECK(trim_attempts(session, std::chrono::hours(24 * 7), std::chrono::hours(24 * 90)) == 2);
    CHECK(world.db.value("SELECT string_agg(seq || outcome, ' ' ORDER BY id) FROM delivery_attempt") ==
          "2failed 2delivered 3delivered_equal");
}
