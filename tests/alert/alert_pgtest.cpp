#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/alert/log_sink.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>
#include <pqxx/connection>
#include <pqxx/result>
#include <pqxx/transaction>
#include <stdexcept>
#include <thread>

#include "support/pg.hpp"
#include "support/session.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed;
using alert::Alert;
using alert::Severity;
using ftl::test::Database;

namespace {

const Alert kFailing{"deliver.failing", "acme/main", Severity::kCritical, "3 failures in a row"};

struct Fixture {
    Database db;
    store::Session session = connect(db);

    bool raise(const Alert& alert) {
        bool is_new = false;
        session.write([&](pqxx::transaction_base& tx) { is_new = alert::raise(tx, alert); });
        return is_new;
    }
    bool clear() {
        bool was_open = false;
        session.write(
            [&](pqxx::transaction_base& tx) { was_open = alert::clear(tx, kFailing.kind, kFailing.subject); });
        return was_open;
    }
};

/// The lines that one look of the sink writes.
std::vector<std::string> lines_of(alert::LogSink& sink, store::Session& session) {
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "log", "");
    const int saved = dup(STDERR_FILENO);
    std::FILE* file = std::fopen((folder / "log").c_str(), "a");
    dup2(fileno(file), STDERR_FILENO);
    core::configure_log({core::LogLevel::kInfo, core::LogSettings::Form::kText, ""});
    const int count = sink.pump(session);
    dup2(saved, STDERR_FILENO);
    close(saved);
    std::fclose(file);
    std::vector<std::string> lines;
    const auto text = ftl::test::read_file(folder / "log");
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    CHECK(static_cast<int>(lines.size()) == count);
    return lines;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "alert: one trouble is one row however often it is raised") {
    CHECK(raise(kFailing));
    auto again = kFailing;
    again.message = "4 failures in a row";
    CHECK_FALSE(raise(again));
    CHECK_FALSE(raise(again));
    const auto open = alert::open_alerts(session);
    REQUIRE(open.size() == 1);
    CHECK(open[0].kind == "deliver.failing");
    CHECK(open[0].subject == "acme/main");
    CHECK(open[0].severity == Severity::kCritical);
    CHECK(open[0].message == "4 failures in a row");
    CHECK(open[0].times == 3);
    CHECK(open[0].raised_at <= open[0].last_seen_at);
    CHECK(open[0].raised_at.ends_with("Z"));
}

TEST_CASE_FIXTURE(Fixture, "alert: it is cleared once and a new trouble of the kind is a new row") {
    raise(kFailing);
    CHECK(clear());
    CHECK_FALSE(clear());
    CHECK(alert::open_alerts(session).empty());
    CHECK(raise(kFailing));
    CHECK(db.value("SELECT count(*) FROM alert") == "2");
}

TEST_CASE_FIXTURE(Fixture, "alert: another subject is another trouble") {
    raise(kFailing);
    auto other = kFailing;
    other.subject = "acme/backup";
    CHECK(raise(other));
    CHECK(clear());
    REQUIRE(alert::open_alerts(session).size() == 1);
    CHECK(alert::open_alerts(session)[0].subject == "acme/backup");
}

TEST_CASE_FIXTURE(Fixture, "alert: it takes effect with the transaction that raised it") {
    CHECK_THROWS_AS(session.write([](pqxx::transaction_base& tx) {
        alert::raise(tx, kFailing);
        throw std::runtime_error("rolled back");
    }),
                    std::runtime_error);
    CHECK(alert::open_alerts(session).empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "alert: two processes that raise it at once make one row and one of them is told it is new") {
    auto other = connect(db);
    bool first = false;
    bool second = false;
    std::jthread waiting;
    session.write([&](pqxx::transaction_base& tx) {
        first = alert::raise(tx, kFailing);
        waiting = std::jthread(
            [&] { other.write([&](pqxx::transaction_base& inner) { second = alert::raise(inner, kFailing); }); });
    });
    waiting.join();
    CHECK(first);
    CHECK_FALSE(second);
    CHECK(alert::open_alerts(session)[0].times == 2);
}

TEST_CASE_FIXTURE(Fixture, "alert: a text that Postgres would refuse raises it all the same") {
    auto odd = kFailing;
    odd.message = std::string("a\0b\xFFz", 5) + std::string(10'000, 'x');
    CHECK(raise(odd));
    const auto message = alert::open_alerts(session)[0].message;
    CHECK(message.size() < 5000);
    CHECK(contains(message, "a b"));
}

TEST_CASE("alert: severities have their names both ways") {
    for (const auto severity : {Severity::kInfo, Severity::kWarning, Severity::kCritical}) {
        CHECK(alert::severity_from(alert::severity_name(severity)) == severity);
    }
    CHECK_THROWS_AS(static_cast<void>(alert::severity_from("loud")), core::InvalidInput);
}

TEST_CASE_FIXTURE(Fixture, "alert.log_sink: one line when it is raised and one when it is cleared") {
    alert::LogSink sink;
    CHECK(lines_of(sink, session).empty());
    raise(kFailing);
    raise(kFailing);
    const auto raised = lines_of(sink, session);
    REQUIRE(raised.size() == 1);
    CHECK(contains(raised[0], "error   alert.raised kind=deliver.failing subject=acme/main severity=critical"));
    raise(kFailing);
    CHECK(lines_of(sink, session).empty());
    clear();
    const auto cleared = lines_of(sink, session);
    REQUIRE(cleared.size() == 1);
    CHECK(contains(cleared[0], "info    alert.cleared kind=deliver.failing"));
    CHECK(lines_of(sink, session).empty());
}

TEST_CASE_FIXTURE(Fixture, "alert.log_sink: what was raised and cleared between two looks is two lines in order") {
    alert::LogSink sink;
    CHECK(lines_of(sink, session).empty());
    raise(kFailing);
    clear();
    const auto lines = lines_of(sink, session);
    REQUIRE(lines.size() == 2);
    CHECK(contains(lines[0], "alert.raised"));
    CHECK(contains(lines[1], "alert.cleared"));
}

TEST_CASE_FIXTURE(Fixture, "alert.log_sink: a raise that commits after a younger one is not missed") {
    alert::LogSink sink;
    CHECK(lines_of(sink, session).empty());
    pqxx::connection slow(db.uri());
    pqxx::work late(slow);
    alert::raise(late, kFailing);  // The lower id and the lower transaction number.
    auto other = kFailing;
    other.subject = "acme/backup";
    raise(other);
    CHECK(lines_of(sink, session).size() == 1);
    late.commit();
    const auto lines = lines_of(sink, session);
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], "subject=acme/main"));
}

TEST_CASE_FIXTURE(Fixture, "alert.log_sink: a new sink begins with the open ones") {
    raise(kFailing);
    auto cleared = kFailing;
    cleared.kind = "deliver.slow";
    raise(cleared);
    session.write([&](pqxx::transaction_base& tx) { alert::clear(tx, cleared.kind, cleared.subject); });
    alert::LogSink sink;
    CHECK(lines_of(sink, session).size() == 1);
    CHECK(lines_of(sink, session).empty());
}

TEST_CASE_FIXTURE(Fixture, "alert.log_sink: a cluster that counts from an older place makes it begin anew") {
    // The sink looks at a cluster that is far ahead, played by a function that hides the real one.
    db.exec("ALTER DATABASE " + db.name() + " SET search_path = public, pg_catalog");
    db.exec(
        "CREATE FUNCTION public.pg_current_snapshot() RETURNS pg_snapshot LANGUAGE sql AS "
        "$$SELECT '9000000000:9000000000:'::pg_snapshot$$");
    alert::LogSink sink;
    {
        auto ahead = connect(db);
        CHECK(lines_of(sink, ahead).empty());
    }
    db.exec("DROP FUNCTION public.pg_current_snapshot()");
    raise(kFailing);
    CHECK(lines_of(sink, session).size() == 1);
    CHECK(lines_of(sink, session).empty());
}
