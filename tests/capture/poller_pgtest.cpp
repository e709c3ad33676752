#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include <ftlfeed/capture/poller.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/lease.hpp>

#include "books.hpp"
#include "scripted_provider.hpp"
#include "statement_relay.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;
using ftlfeed::core::Failure;
using ftlfeed::core::ManualClock;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;

namespace {

constexpr sys_seconds kProviderNow{seconds(1'781'211'600)};  // Two hours after the builder's kick-off.

/// A poller on a scripted provider whose lease a test can break.
class Bench {
public:
    explicit Bench(PollerSettings settings = {})
        : poller(
              provider, Ingest("sportmonks"), [this] { return lease; }, settings, clock) {}

    PollReport poll() { return poller.poll(books.session()); }
    void says(std::vector<FixtureSnapshot> fixtures) {
        provider.on_in_play = [fixtures = std::move(fixtures)] { return ProviderAnswer{fixtures, {}, kProviderNow}; };
    }

    Books books;
    ScriptedProvider provider;
    ManualClock clock;
    ftlfeed::store::LeaseState lease{true, 1};
    Poller poller;
};

FixtureSnapshot scored(std::int64_t id = 1) {
    return at_score(with(fixture(id), {goal(id * 1000 + 1, kHomeTeam, 101, 10)}), 1, 0);
}

void refuse_goals_of(const Books& books, std::int64_t fixture_id) {
    books.database().exec(R"(
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.provider_id = )" +
                          std::to_string(fixture_id) + R"( THEN RAISE EXCEPTION 'refused by the test'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON fixture FOR EACH ROW EXECUTE FUNCTION refuse())");
}

}  // namespace

TEST_CASE("capture.poller: a poll of unchanged fixtures costs three statements with ticket and lease and versions") {
    Bench bench;
    std::vector<FixtureSnapshot> fixtures;
    for (std::int64_t id = 1; id <= 20; ++id) fixtures.push_back(scored(id));
    bench.says(fixtures);
    StatementRelay relay(bench.books.database().uri());
    auto session = connect(relay.uri());
    auto lease_session = connect(relay.uri());
    ftlfeed::store::Lease lease("ingest:sportmonks", ftlfeed::store::process_identity(), seconds(8), bench.clock);
    REQUIRE(lease.renew(lease_session));
    bench.poller.poll(session);
    CHECK(relay.take().size() > 100);  // The relay sees what there is to see.
    for (int i = 0; i < 10; ++i) {
        CHECK(lease.renew(lease_session));
        const auto report = bench.poller.poll(session);
        CHECK(report.fixtures_skipped == 20);
        const auto statements = relay.take();
        CHECK(statements.size() <= 3);
        if (statements.size() > 3) {
            for (const auto& statement : statements) MESSAGE(statement);
        }
    }
}

TEST_CASE("capture.poller: what the list lacks is asked for by id at once which confirms it or not") {
    const auto card = event(2, kRedCard, kHomeTeam, 102, 6);
    const auto rest = with(fixture(), {event(1, kYellowCard, kHomeTeam, 101, 5)});
    for (const bool is_gone : {true, false}) {
        CAPTURE(is_gone);
        Bench bench;
        bench.says({with(rest, {card})});
        bench.poll();
        bench.says({rest});
        bench.provider.on_fixture = [&](std::int64_t) {
            ProviderAnswer answer;
            answer.fixtures = {is_gone ? rest : with(rest, {card})};
            return answer;
        };
        bench.poll();
        CHECK(bench.provider.times("fixture 1") == 1);
        CHECK(bench.books.count("match_event_revision WHERE kind = 'withdrawn'") == (is_gone ? 1 : 0));
        CHECK(bench.books.count("match_event_current") == (is_gone ? 1 : 2));
        CHECK(bench.books.value("SELECT has_open_questions FROM fixture") == "f");
        if (!is_gone) bench.says({with(rest, {card})});
        bench.poll();
        CHECK(bench.provider.times("fixture 1") == 1);
    }
}

TEST_CASE("capture.poller: the ticket is drawn before the request so that what was stored meanwhile stands") {
    const auto older = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0);
    const auto newer = at_score(with(fixture(), {goal(501, kHomeTeam, 102, 10)}), 1, 0);
    for (const std::string asked : {"in_play", "season", "fixture 1"}) {
        CAPTURE(asked);
        Bench bench;
        // While our request is under way another one is made, answered and stored.
        const auto overtaken = [&] {
            bench.books.store(newer);
            return ProviderAnswer{{older}, {}, kProviderNow};
        };
        bench.says({});
        if (asked == "in_play") bench.provider.on_in_play = overtaken;
        if (asked == "season") bench.provider.on_season = overtaken;
        if (asked == "fixture 1") {
            bench.books.store(fixture());  // Under way, and not in the list.
            bench.provider.on_fixture = [&](std::int64_t) { return overtaken(); };
        }
        bench.poll();
        CHECK(bench.provider.times(asked) >= 1);
        CHECK(bench.books.value("SELECT player_name FROM match_event_current") == "Player 102");
        CHECK(bench.books.total("player", 102) == "1000");
        CHECK(bench.books.count("match_event_revision") == 0);
        CHECK(bench.books.count("event_bump_log WHERE entry > 0") == 0);
    }
}

TEST_CASE("capture.poller: memory is worth nothing when another has written the row") {
    // Finding C4 b: A remembers D1, B stores D2, the list goes back to D1.
    Bench bench;
    bench.says({scored()});
    bench.poll();
    CHECK(bench.poll().fixtures_skipped == 1);
    bench.books.store(in_state(scored(), 3, "HT"));
    const auto report = bench.poll();
    CHECK(report.fixtures_skipped == 0);
    CHECK(bench.books.value("SELECT state FROM fixture") == "INPLAY_2ND_HALF");
}

TEST_CASE("capture.poller: memory is worth nothing after a break of the lease") {
    Bench bench;
    bench.says({scored()});
    bench.poll();
    CHECK(bench.poll().fixtures_skipped == 1);
    bench.lease.generation = 2;
    CHECK(bench.poll().fixtures_skipped == 0);
    CHECK(bench.poll().fixtures_skipped == 1);
}

TEST_CASE("capture.poller: without the lease nothing is asked and nothing written") {
    Bench bench;
    bench.lease.is_valid = false;
    bench.says({scored()});
    CHECK(bench.poll().is_standby);
    CHECK(bench.provider.asked.empty());
    CHECK(bench.books.count("fixture") == 0);
}

TEST_CASE("capture.poller: a fixture that cannot be stored sinks no other and is tried with the next answer") {
    // Finding C4 c: a digest that is remembered although the transaction failed would lose the change.
    Bench bench;
    refuse_goals_of(bench.books, 2);
    bench.says({scored(1), scored(2), scored(3)});
    auto report = bench.poll();
    CHECK(report.fixtures_failed >= 1);
    CHECK(bench.books.count("match_events") == 2);
    CHECK(bench.books.count("alert WHERE kind = 'capture.fixture_failing' AND cleared_at IS NULL") == 1);
    bench.books.database().exec("DROP TRIGGER refuse ON fixture");
    report = bench.poll();
    CHECK(report.fixtures_failed == 0);
    CHECK(bench.books.count("match_events") == 3);
    CHECK(bench.books.count("alert WHERE kind = 'capture.fixture_failing' AND cleared_at IS NULL") == 0);
}

TEST_CASE("capture.poller: after a failed commit the fixture is read by id although it left the list") {
    Bench bench;
    bench.provider.on_fixture = [](std::int64_t) {
        return ProviderAnswer{{in_state(scored(), 5, "FT")}, {}, kProviderNow};
    };
    bench.says({scored()});
    bench.poll();
    refuse_goals_of(bench.books, 1);
    bench.says({in_state(scored(), 5, "FT")});
    CHECK(bench.poll().fixtures_failed == 2);  // From the list, and by id at once.
    bench.books.database().exec("DROP TRIGGER refuse ON fixture");
    bench.says({});
    bench.clock.advance(seconds(61));
    bench.poll();
    CHECK(bench.books.value("SELECT state FROM fixture") == "FT");
}

TEST_CASE("B29: a fixture that left the list is read by id until it is over and a late goal is bumped once") {
    Bench bench;
    bench.says({fixture()});
    bench.poll();
    bench.says({});
    auto by_id = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 90)}), 1, 0);
    auto now = kProviderNow;
    bench.provider.on_in_play = [&] { return ProviderAnswer{{}, {}, now}; };
    bench.provider.on_fixture = [&](std::int64_t) { return ProviderAnswer{{by_id}, {}, now}; };
    const auto poll_after = [&](seconds pause) {
        now += pause;
        bench.clock.advance(hours(1));
        return bench.poll().read_by_id;
    };
    CHECK(poll_after(seconds(0)) == 1);
    CHECK(bench.books.total("player", 101) == "1000");  // First seen by such a read, and bumped.
    by_id = in_state(by_id, 5, "FT");
    CHECK(poll_after(seconds(30)) == 1);
    // Full time was not the last word: it is quiet time.
    by_id = at_score(with(by_id, {goal(502, kAwayTeam, 201, 90)}), 1, 1);
    CHECK(poll_after(seconds(119)) == 1);
    CHECK(bench.books.total("player", 201) == "1000");
    CHECK(poll_after(seconds(1)) == 0);
    CHECK(poll_after(seconds(600)) == 0);
    CHECK(bench.books.value("SELECT state FROM fixture") == "FT");
}

TEST_CASE("capture.poller: reads by id become more seldom while nothing ends") {
    PollerSettings settings;
    settings.by_id_first = seconds(1);
    settings.by_id_max = seconds(10);
    Bench bench(settings);
    bench.says({fixture()});
    bench.poll();
    bench.says({});
    bench.provider.on_fixture = [](std::int64_t) { return ProviderAnswer{{fixture()}, {}, kProviderNow}; };
    for (int i = 0; i < 600; ++i) {  // Ten minutes, a poll each second.
        bench.poll();
        bench.clock.advance(seconds(1));
    }
    CHECK(bench.provider.times("fixture 1") > 50);
    CHECK(bench.provider.times("fixture 1") < 75);
}

TEST_CASE("B31: at start every stored fixture that should have begun by the provider's time is read by id") {
    Bench bench;
    auto due = in_state(fixture(1), 1, "NS");
    auto later = in_state(fixture(2), 1, "NS");
    *later.kickoff = kProviderNow + hours(1);
    bench.books.store(due);
    bench.books.store(later);
    bench.books.store(in_state(fixture(3), 5, "FT"));
    bench.says({});
    bench.provider.on_fixture = [&](std::int64_t) {
        return ProviderAnswer{{in_state(due, 5, "FT")}, {}, kProviderNow};
    };
    bench.poll();
    CHECK(bench.provider.times("fixture 1") == 1);
    CHECK(bench.provider.times("fixture 2") == 0);
    CHECK(bench.provider.times("fixture 3") == 0);
    CHECK(bench.books.value("SELECT state FROM fixture WHERE provider_id = 1") == "FT");
}

TEST_CASE("B35: a fixture that the provider no longer knows is not asked for again until the next season read") {
    Bench bench;
    bench.says({fixture()});
    bench.poll();
    bench.says({});
    for (int i = 0; i < 5; ++i) {
        bench.poll();
        bench.clock.advance(seconds(90));
    }
    CHECK(bench.provider.times("fixture 1") == 1);
    bench.clock.advance(seconds(600));
    bench.poll();
    CHECK(bench.provider.times("fixture 1") == 2);
    CHECK(bench.books.value("SELECT state FROM fixture") == "INPLAY_2ND_HALF");
}

TEST_CASE("capture.poller: the season is read at start and every ten minutes and when an event is added") {
    Bench bench;
    bench.says({});
    bench.provider.on_season = [] { return ProviderAnswer{{in_state(fixture(5), 1, "NS")}, {}, kProviderNow}; };
    CHECK(bench.poll().has_read_season);
    CHECK(bench.books.count("fixture") == 1);
    CHECK_FALSE(bench.poll().has_read_season);
    bench.clock.advance(seconds(599));
    CHECK_FALSE(bench.poll().has_read_season);
    bench.clock.advance(seconds(1));
    CHECK(bench.poll().has_read_season);
    bench.books.database().exec(
        "INSERT INTO event (code, name, provider, provider_season_id) VALUES ('other', 'Other', 'sportmonks', 78)");
    CHECK(bench.poll().has_read_season);
}

TEST_CASE("capture.poller: a season that cannot be read stops no poll and is asked for again soon") {
    Bench bench;
    bench.says({scored()});
    bench.provider.on_season = []() -> ProviderAnswer { throw Failure::unavailable("half a body"); };
    CHECK_FALSE(bench.poll().has_read_season);
    CHECK(bench.books.count("match_events") == 1);
    bench.provider.on_season = [] { return ProviderAnswer{}; };
    bench.clock.advance(seconds(10));
    CHECK(bench.poll().has_read_season);
}

TEST_CASE("capture.poller: a rejected fixture goes into quarantine and the others are stored") {
    Bench bench;
    bench.provider.on_in_play = [] {
        return ProviderAnswer{{scored()}, {{2, "{\"id\":2}", "\"state_id\" is missing"}}, kProviderNow};
    };
    bench.poll();
    bench.poll();
    CHECK(bench.books.count("match_events") == 1);
    CHECK(bench.books.count("event_quarantine") == 1);
}

TEST_CASE("B51: a reached limit is waited out and then the poll goes on") {
    Bench bench;
    bench.provider.on_in_play = []() -> ProviderAnswer { throw Failure::busy("limit").with_retry_after(seconds(30)); };
    std::atomic<int> polls = 0;
    std::jthread runner([&](const std::stop_token& stop) {
        bench.poller.run([&] { return ftlfeed::store::Session(bench.books.settings()); },
                         [&](const PollerStatus&) { ++polls; }, stop);
    });
    REQUIRE(wait_until([&] { return polls == 1; }));
    bench.clock.advance(seconds(29));
    bench.clock.advance(seconds(1));
    REQUIRE(wait_until([&] { return polls == 2; }));
    CHECK(bench.poller.status().failures == 2);
}

TEST_CASE("capture.poller: three failed polls in a row raise one alert and a good one ends it") {
    PollerSettings settings;
    settings.poll_interval = milliseconds(0);
    settings.failure_first = milliseconds(1);
    settings.failure_max = milliseconds(2);
    Books books;
    ScriptedProvider provider;
    std::atomic<bool> is_down = true;
    provider.on_in_play = [&]() -> ProviderAnswer {
        if (is_down) throw Failure::unavailable("connect: refused");
        return {};
    };
    Poller poller(
        provider, Ingest("sportmonks"),
        [] {
            return ftlfeed::store::LeaseState{true, 1};
        },
        settings, ftlfeed::core::Clock::real());
    std::jthread runner([&](const std::stop_token& stop) {
        poller.run([&] { return ftlfeed::store::Session(books.settings()); }, [](const PollerStatus&) {}, stop);
    });
    const std::string open = "alert WHERE kind = 'capture.provider_failing' AND cleared_at IS NULL";
    REQUIRE(wait_until([&] { return poller.status().failures > 5; }));
    CHECK(books.count("alert WHERE kind = 'capture.provider_failing'") == 1);
    is_down = false;
    CHECK(wait_until([&] { return books.count(open) == 0; }));
}
