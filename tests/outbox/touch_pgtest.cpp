#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/outbox/touch.hpp>
#include <ftlfeed/store/session.hpp>
#include <pqxx/nontransaction>
#include <pqxx/notification>
#include <pqxx/transaction_base>
#include <string>

#include "history.hpp"
#include "scenarios.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;

namespace {

class Notifications : public pqxx::notification_receiver {
public:
    explicit Notifications(pqxx::connection& connection) : notification_receiver(connection, "ftl_outbox") {}
    void operator()(const std::string& payload, int /*pid*/) override { payloads.push_back(payload); }
    std::vector<std::string> payloads;
};

constexpr const char* kRecords =
    "SELECT coalesce(string_agg(record_kind || ':' || record_id || ':' || coalesce(event, '-'), ' ' ORDER BY id), '')"
    " FROM outbox WHERE record_kind IN ('fixture', 'event', 'player')";

}  // namespace

TEST_CASE("outbox.touch: a touch of a member touches its event's collection too") {
    const Database db;
    auto session = connect(db);
    session.write([](pqxx::transaction_base& tx) {
        product::touch(tx, {"fixture", "7", "wc2026"});
        product::touch(tx, {"player", "9", ""});
        product::touch(tx, {"event", "wc2026", "wc2026"});
    });
    CHECK(db.value(kRecords) == "fixture:7:wc2026 event:wc2026:wc2026 player:9:- event:wc2026:wc2026");
    CHECK(db.value("SELECT count(DISTINCT txid) FROM outbox WHERE record_kind IN ('fixture', 'event', 'player')") ==
          "1");
}

TEST_CASE("outbox.touch: it takes effect with the caller's transaction or not at all") {
    const Database db;
    auto session = connect(db);
    CHECK_THROWS_AS(session.write([](pqxx::transaction_base& tx) {
        product::touch(tx, {"fixture", "7", "wc2026"});
        throw ftlfeed::core::InvalidInput("the caller changed its mind");
    }),
                    ftlfeed::core::InvalidInput);
    CHECK(db.value(kRecords) == "");
}

TEST_CASE("outbox.touch: a text with a NUL is refused instead of being cut there") {
    const Database db;
    auto session = connect(db);
    const auto touch = [&](const ftlfeed::core::RecordRef& record) {
        session.write([&](pqxx::transaction_base& tx) { product::touch(tx, record); });
    };
    CHECK_THROWS_AS(touch({"fixture", std::string("7\0008", 3), ""}), ftlfeed::core::InvalidInput);
    CHECK_THROWS_AS(touch({"fixture", "7", std::string("wc\0", 3)}), ftlfeed::core::InvalidInput);
    CHECK(db.value(kRecords) == "");
}

TEST_CASE("outbox.touch: any number of touches in a transaction is one notification without a payload") {
    const Database db;
    auto listening = db.connect();
    Notifications notifications(listening);
    Writer writer(db.uri());
    for (int i = 0; i < 20; ++i) writer.touch(std::to_string(i));
    listening.get_notifs();
    CHECK(notifications.payloads.empty());
    writer.commit();
    listening.await_notification(10, 0);
    listening.get_notifs();
    CHECK(notifications.payloads == std::vector<std::string>{""});
}

TEST_CASE("E33: a touch of a record with a name of 9000 bytes succeeds and its notification is empty") {
    const Database db;
    auto listening = db.connect();
    Notifications notifications(listening);
    std::string name;
    for (int i = 0; i < 4500; ++i) name += "\u00e9";
    commit_each(db.uri(), {name});
    listening.await_notification(10, 0);
    listening.get_notifs();
    CHECK(notifications.payloads == std::vector<std::string>{""});
    CHECK(db.value("SELECT octet_length(record_id) FROM outbox WHERE record_kind = 'test'") == "9000");
}

TEST_CASE("outbox.touch: a transaction that is to be prepared touches without a notification") {
    const Database db;
    const PreparedGuard guard(db.uri(), unique_gid());
    // Postgres refuses PREPARE TRANSACTION after NOTIFY.
    Writer loud(db.uri());
    loud.touch("loud");
    CHECK_THROWS(loud.prepare(guard.gid()));
    Writer quiet(db.uri());
    quiet.run("SET LOCAL ftl.notify = off").touch("quiet").prepare(guard.gid());
    db.exec("COMMIT PREPARED '" + guard.gid() + "'");
    CHECK(db.value("SELECT string_agg(record_id, ' ') FROM outbox WHERE record_kind = 'test'") == "quiet");
}

TEST_CASE("outbox.touch: a row of the outbox is never updated") {
    const Database db;
    commit_each(db.uri(), {"A"});
    CHECK_THROWS(db.exec("UPDATE outbox SET record_id = 'B'"));
    CHECK(db.value("SELECT record_id FROM outbox WHERE record_kind = 'test'") == "A");
    // Its identity and its transaction come from Postgres.
    CHECK_THROWS(db.exec("INSERT INTO outbox (id, record_kind, record_id) VALUES (1, 'test', 'C')"));
}

TEST_CASE("outbox.touch: created_at is the moment of the touch and not the transaction's start") {
    const Database db;
    Writer writer(db.uri());
    writer.run("SELECT pg_sleep(0.002)").touch("A");
    CHECK(writer.value("SELECT created_at > now() + interval '1 millisecond' FROM outbox WHERE record_id = 'A'") ==
          "t");
    writer.commit();
}
