#include <doctest/doctest.h>

#include <algorithm>
#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/outbox/old_transactions.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <ftlfeed/store/session.hpp>
#include <string>

#include "history.hpp"
#include "scenarios.hpp"
#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
namespace store = ftlfeed::store;
using std::chrono::milliseconds;

namespace {

product::ConsumerStatus status_of(store::Session& session) {
    const auto status = product::status(session);
    REQUIRE(status.consumers.size() == 1);
    return status.consumers[0];
}

/// The server is shared with other tests, whose transactions are named too.
std::vector<product::OldTransaction> ours(std::vector<product::OldTransaction> all, const std::string& mark) {
    std::erase_if(all, [&](const auto& one) { return one.description.find(mark) == std::string::npos; });
    return all;
}

std::vector<std::string> open_subjects(store::Session& session) {
    std::vector<std::string> subjects;
    for (const auto& alert : ftlfeed::alert::open_alerts(session)) {
        if (alert.kind == "outbox.old_transaction") subjects.push_back(alert.subject);
    }
    return subjects;
}

bool names(const std::vector<std::string>& subjects, const std::string& subject) {
    return std::find(subjects.begin(), subjects.end(), subject) != subjects.end();
}

}  // namespace

TEST_CASE("outbox.status: rows behind are those committed and not read whatever their ids and pages") {
    const Database db;
    auto session = connect(db);
    const auto before = product::status(session).rows;
    CHECK(product::register_consumer(session, "build"));
    CHECK(status_of(session).rows_behind == 0);
    CHECK(status_of(session).oldest_unread_seconds == 0);
    Writer open(db.uri());
    open.touch("open");
    commit_each(db.uri(), {"A", "B", "C"});
    CHECK(status_of(session).rows_behind == 3);
    CHECK(status_of(session).oldest_unread_seconds > 0);
    product::Reader::Options options;
    options.page_rows_max = 2;
    product::Reader reader(session, "build", options);
    CHECK(reader.read_page([](auto&, auto) {}) == 2);
    CHECK(status_of(session).rows_behind == 1);
    open.commit();
    CHECK(status_of(session).rows_behind == 2);
    while (reader.read_page([](auto&, auto) {}) > 0) {
    }
    CHECK(status_of(session).rows_behind == 0);
    CHECK(product::status(session).rows == before + 4);
}

TEST_CASE("outbox.status: a cursor of another cluster is told apart") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    CHECK_FALSE(status_of(session).is_foreign);
    db.exec("UPDATE outbox_cursor SET system_identifier = 1");
    commit_each(db.uri(), {"A"});
    CHECK(status_of(session).is_foreign);
    CHECK(status_of(session).rows_behind == 0);
}

TEST_CASE("outbox.status: old open and prepared transactions are named with the way to end them") {
    const Database db;
    auto session = connect(db);
    const PreparedTouch prepared(db.uri(), "P");
    Writer open(db.uri());
    open.run("SET LOCAL application_name = 'a forgotten session'").touch("A");
    const auto pid = open.value("SELECT pg_backend_pid()");

    CHECK(ours(product::old_transactions(session, std::chrono::hours(1)), db.name()).empty());
    const auto found = ours(product::old_transactions(session, milliseconds(0)), db.name());
    REQUIRE(found.size() == 2);
    CHECK(found[0].subject == "prepared " + prepared.gid());
    CHECK(found[0].description.find("ROLLBACK PREPARED '" + prepared.gid() + "'") != std::string::npos);
    CHECK(found[1].subject.starts_with("open " + pid + " "));
    CHECK(found[1].description.find("a forgotten session") != std::string::npos);
    CHECK(found[1].description.find("pg_terminate_backend(" + pid + ")") != std::string::npos);
    open.abort();
}

TEST_CASE("outbox.status: an old transaction raises one alert that ends with it and holds no reader up") {
    const Database db;
    auto session = connect(db);
    product::register_consumer(session, "build");
    const PreparedTouch prepared(db.uri(), "P");
    const auto subject = "prepared " + prepared.gid();
    CHECK(product::alert_old_transactions(session, milliseconds(0)) >= 1);
    CHECK(product::alert_old_transactions(session, milliseconds(0)) >= 1);
    CHECK(names(open_subjects(session), subject));
    CHECK(db.value("SELECT count(*) || ' ' || max(times) FROM alert WHERE subject = '" + subject + "'") == "1 2");

    commit_each(db.uri(), {"A"});
    product::Reader reader(session, "build");
    CHECK(reader.read_page([](auto&, auto) {}) == 1);

    prepared.commit();
    product::alert_old_transactions(session, milliseconds(0));
    CHECK_FALSE(names(open_subjects(session), subject));
    CHECK(db.value("SELECT count(*) FROM alert WHERE subject = '" + subject + "' AND cleared_at IS NOT NULL") == "1");
    CHECK(reader.read_page([](auto&, auto) {}) == 1);
}

TEST_CASE("outbox.status: a transaction younger than a minute raises nothing") {
    const Database db;
    auto session = connect(db);
    CHECK(product::kOldTransactionDefault == std::chrono::minutes(1));
    Writer open(db.uri());
    open.touch("A");
    const auto pid = open.value("SELECT pg_backend_pid()");
    product::alert_old_transactions(session);
    for (const auto& subject : open_subjects(session)) CHECK_FALSE(subject.starts_with("open " + pid + " "));
    open.abort();
}
