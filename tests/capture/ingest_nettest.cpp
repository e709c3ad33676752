#include <doctest/doctest.h>

#include <csignal>

#include "played.hpp"

using namespace ftl::test;
using std::chrono::seconds;

namespace {

constexpr std::chrono::milliseconds kPlayLimit = seconds(60);

/// Plays to the end with one ftl-ingest. Returns the end state.
std::string play(const std::vector<std::string>& sim_options, const Database& database) {
    add_event(database);
    SimProvider sim(sim_options);
    IngestProcess ingest(database, sim.url());
    const bool is_at_end = wait_until([&] { return sim.is_at_end(); }, kPlayLimit);
    CHECK_MESSAGE(is_at_end, ingest.said());
    // At its end the provider has answered; what it said is stored when the next request has come, or the process ends.
    CHECK(ingest.process().terminate().exit_code == 0);
    return end_state(database);
}

const std::string& undisturbed() {
    static const std::string kState = [] {
        const Database database;
        return play({}, database);
    }();
    return kState;
}

}  // namespace

TEST_CASE("capture.played: a tournament is stored whole with every match over and every goal bumped") {
    const Database database;
    play({}, database);
    CHECK(database.value("SELECT count(*) FROM fixture") == "8");
    CHECK(database.value("SELECT string_agg(state, ' ') FROM fixture WHERE NOT is_terminal") == "NS");
    CHECK(database.value("SELECT count(*) FROM match_events WHERE type_id IN (14, 15, 16)") == "14");
    CHECK(database.value("SELECT count(*) FROM event_bump_log") == "42");
    CHECK(database.value(R"(SELECT count(*) FROM fixture f
        WHERE home_score + away_score <> (SELECT count(*) FROM match_events m
                                          WHERE m.fixture_id = f.id AND m.type_id IN (14, 15, 16)))") == "0");
    CHECK(database.value("SELECT count(*) FROM match_event_revision") == "0");
    CHECK(database.value("SELECT count(*) FROM alert WHERE cleared_at IS NULL") == "0");
}

TEST_CASE("capture.played: bad answers between good ones leave no trace in the end") {
    const Database database;
    const auto state = play({"--fault", "2:html", "--fault", "4:half", "--fault", "5:nothing", "--fault", "7:error",
                             "--fault", "9:strings", "--fault", "11:no-events", "--fault", "13:html"},
                            database);
    CHECK(state == undisturbed());
    CHECK(database.value("SELECT count(*) FROM event_quarantine") == "0");
}

TEST_CASE("capture.played: a name with U+0000 costs its event until the payload changes and nothing in the end") {
    const Database database;
    const auto state = play({"--fault", "6:nul", "--fault", "8:nul"}, database);
    CHECK(state == undisturbed());
    CHECK(database.value("SELECT count(*) FROM alert WHERE kind = 'capture.quarantine' AND cleared_at IS NULL") == "0");
}

TEST_CASE("capture.played: killed right after any commit and started again it ends as if nothing had happened") {
    for (const char* step : {"1", "3", "8", "15"}) {
        CAPTURE(step);
        const Database database;
        add_event(database);
        SimProvider sim;
        {
            ProcessOptions options;
            options.environment["FTL_CRASH_AT"] = step;
            IngestProcess dying(database, sim.url(), options);
            const auto end = dying.process().wait(kPlayLimit);
            REQUIRE(end);
            CHECK(end->exit_code == 137);
        }
        IngestProcess ingest(database, sim.url());
        CHECK_MESSAGE(wait_until([&] { return sim.is_at_end(); }, kPlayLimit), ingest.said());
        CHECK(ingest.process().terminate().exit_code == 0);
        CHECK(end_state(database) == undisturbed());
    }
}

TEST_CASE("capture.played: a second ftl-ingest stands by on the lease and takes over when the first is killed") {
    const Database database;
    add_event(database);
    SimProvider sim({"--speed", "3000"});
    IngestProcess first(database, sim.url());
    REQUIRE(wait_until([&] { return database.value("SELECT count(*) FROM fixture") != "0"; }));
    IngestProcess second(database, sim.url());
    REQUIRE(wait_until([&] { return second.said().find("app.started") != std::string::npos; }));
    const auto holder = database.value("SELECT holder FROM lease WHERE name = 'ingest:sportmonks'");
    const auto beat = database.value("SELECT beat FROM lease WHERE name = 'ingest:sportmonks'");
    // The first goes on renewing while the second looks on.
    REQUIRE(
        wait_until([&] { return database.value("SELECT beat FROM lease WHERE name = 'ingest:sportmonks'") != beat; }));
    CHECK(database.value("SELECT holder FROM lease WHERE name = 'ingest:sportmonks'") == holder);
    first.process().kill();
    CHECK(wait_until(
        [&] { return database.value("SELECT holder FROM lease WHERE name = 'ingest:sportmonks'") != holder; }));
    CHECK_MESSAGE(wait_until([&] { return sim.is_at_end(); }, kPlayLimit), second.said());
    CHECK(wait_until([&] { return database.value("SELECT count(*) FROM fixture WHERE is_terminal") == "7"; }));
    CHECK(second.process().terminate().exit_code == 0);
    CHECK(end_state(database) == undisturbed());
}

TEST_CASE("capture.played: an ftl-ingest that was paused and replaced does no harm when it comes back") {
    const Database database;
    add_event(database);
    SimProvider sim({"--speed", "3000"});
    IngestProcess zombie(database, sim.url());
    REQUIRE(wait_until([&] { return database.value("SELECT count(*) FROM match_events") != "0"; }, kPlayLimit));
    IngestProcess heir(database, sim.url());
    REQUIRE(wait_until([&] { return heir.said().find("app.started") != std::string::npos; }));
    const auto holder = [&] { return database.value("SELECT holder FROM lease WHERE name = 'ingest:sportmonks'"); };
    const auto before = holder();
    // Wherever it is: with an answer in hand, or in the middle of a transaction.
    zombie.process().signal(SIGSTOP);
    REQUIRE(wait_until([&] { return holder() != before; }));
    const auto events = database.value("SELECT count(*) FROM match_events");
    REQUIRE(wait_until([&] { return database.value("SELECT count(*) FROM match_events") != events; }, kPlayLimit));
    zombie.process().signal(SIGCONT);
    CHECK_MESSAGE(wait_until([&] { return sim.is_at_end(); }, kPlayLimit), heir.said());
    CHECK(wait_until([&] { return database.value("SELECT count(*) FROM fixture WHERE is_terminal") == "7"; }));
    CHECK(zombie.process().terminate().exit_code == 0);
    CHECK(heir.process().terminate().exit_code == 0);
    CHECK(end_state(database) == undisturbed());
}

TEST_CASE("capture.app: --check answers for settings and Postgres and provider with its exit code") {
    const Database database;
    SimProvider sim;
    const TempFolder folder;
    write_file(folder / "token", "sim-token\n");
    write_file(folder / "wrong", "wrong\n");
    const std::vector<std::string> base{app("ftl-ingest"), "--check",        "--postgres.uri",
                                        database.uri(),    "--provider.url", sim.url()};
    const auto with = [&](std::vector<std::string> more) {
        auto command = base;
        command.insert(command.end(), more.begin(), more.end());
        return run_command(command);
    };
    CHECK(with({"--provider.token_file", (folder / "token").string()}).exit_code == 0);
    const auto refused = with({"--provider.token_file", (folder / "wrong").string()});
    CHECK(refused.exit_code == 1);
    CHECK(refused.output.find("FAIL  provider") != std::string::npos);
    CHECK(with({}).exit_code == 2);
    const auto unknown = with({"--ingest.pol_interval_ms", "5"});
    CHECK(unknown.exit_code == 2);
    CHECK(unknown.errors.find("ingest.poll_interval_ms") != std::string::npos);
    CHECK(with({"--provider.token_file", (folder / "token").string(), "--ingest.lease_renew_ms", "7000"}).exit_code ==
          2);
}
