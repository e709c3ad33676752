#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <pqxx/transaction>
#include <thread>
#include <vector>

#include <ftlfeed/core/failure.hpp>

#include "books.hpp"
#include "statement_relay.hpp"
#include "support/rng.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

namespace {

constexpr std::int64_t kProviderEvents = 60;

/// A match that grows: goals of few players on both sides, so that fixtures share instruments.
FixtureSnapshot grown(std::int64_t fixture_id, int goals) {
    auto snapshot = fixture(fixture_id);
    // Every other fixture lists the same teams the other way round: totals are wanted in opposite order.
    if (fixture_id % 2 == 0) std::swap(snapshot.home, snapshot.away);
    std::vector<EventSnapshot> rows;
    Score score;
    for (int i = 0; i < goals; ++i) {
        const bool is_home = i % 2 == 0;
        const auto team = is_home ? snapshot.home->id : snapshot.away->id;
        const auto player = 101 + (fixture_id % 2 == 0 ? 7 - i % 8 : i % 8);
        rows.push_back(goal(fixture_id * 1000 + i, team, player, i));
        ++(is_home ? score.home : score.away);
    }
    return at_score(with(snapshot, rows), score.home, score.away);
}

}  // namespace

TEST_CASE("capture.race: many writers of fixtures with the same teams and players neither fail nor lose a bump") {
    // Finding C10: instruments and new events wanted in opposite order.
    Books books;
    std::atomic<int> failures = 0;
    {
        std::vector<std::jthread> writers;
        for (int writer = 0; writer < 4; ++writer) {
            writers.emplace_back([&, writer] {
                ftlfeed::store::Session session(books.settings());
                const Ingest ingest("sportmonks");
                for (int i = 0; i < 48; ++i) {
                    const auto id = 1 + (writer + i) % 4;
                    // Later answers tell of more goals, whoever asked.
                    const auto ticket = draw_ticket(session);
                    const auto goals = std::min<int>(12, 1 + static_cast<int>(ticket) / 14);
                    try {
                        ingest.store(session, grown(id, goals), {ticket, Source::kLive});
                    } catch (const std::exception& error) {
                        ++failures;
                        MESSAGE(error.what());
                    }
                }
            });
        }
    }
    CHECK(failures == 0);
    // Not one was healed by trying again: the order of locks leaves no circle.
    CHECK(books.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0");
    CHECK(books.count("match_events") == 4 * 12);
    CHECK(books.count("event_bump_log") == 4 * 12 * 3);
    CHECK(books.count("event_bump_log WHERE entry <> 0") == 0);
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("capture.race: a deadlock with somebody else's transaction repeats the fixture whole") {
    Books books;
    books.store(grown(1, 1));
    // Each looks for a circle once, after its own time: the circle has to be closed before the writer does, and the other
    // must not look at all.
    books.database().exec("ALTER DATABASE " + books.database().name() + " SET deadlock_timeout = '3s'");
    auto foreign = books.database().connect();
    pqxx::work other(foreign);
    other.exec("SET LOCAL deadlock_timeout = '60s'; SELECT * FROM instrument_bump FOR UPDATE");
    StoreResult result;
    std::jthread writer([&] {
        ftlfeed::store::Session session(books.settings());
        result = Ingest("sportmonks").store(session, grown(1, 2), {draw_ticket(session), Source::kLive});
    });
    REQUIRE(wait_until([&] {
        return books.value(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
                   "current_database()") == "1";
    }));
    // Now each waits for the other; the writer finds the circle and gives way.
    other.exec("SELECT * FROM fixture FOR UPDATE");
    other.commit();
    writer.join();
    CHECK(result.events_new == 1);
    CHECK(books.count("event_bump_log") == 6);
    CHECK(books.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "1");
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("E27: a commit whose answer is lost is in doubt and storing again moves no price a second time") {
    for (const auto lost : {StatementRelay::Lost::kAnswer, StatementRelay::Lost::kCommit}) {
        Books books;
        StatementRelay relay(books.database().uri());
        auto session = connect(relay.uri());
        const auto ticket = draw_ticket(session);
        relay.lose_next_commit(lost);
        try {
            Ingest("sportmonks").store(session, grown(1, 3), {ticket, Source::kLive});
            FAIL("the answer came");
        } catch (const ftlfeed::core::Failure& failure) {
            CHECK(failure.in_doubt());
        }
        CHECK(session.is_broken());
        // Whether it was committed nobody on our side knew; both are the same to whoever stores the answer again.
        const bool is_done = lost == StatementRelay::Lost::kAnswer;
        CHECK(books.count("event_bump_log") == (is_done ? 9 : 0));
        CHECK(books.store(grown(1, 3), ticket).outcome ==
              (is_done ? StoreResult::Outcome::kUnchanged : StoreResult::Outcome::kStored));
        CHECK(books.count("event_bump_log") == 9);
        CHECK(books.count("match_events") == 3);
        CHECK(books.wrong_totals() == 0);
    }
}

TEST_CASE("capture.race: two writers of one new fixture make one row and each event once") {
    for (int round = 0; round < rounds(3, 30); ++round) {
        Books books;
        {
            std::vector<std::jthread> writers;
            for (int writer = 0; writer < 2; ++writer) {
                writers.emplace_back([&] {
                    ftlfeed::store::Session session(books.settings());
                    Ingest("sportmonks").store(session, grown(1, 6), {draw_ticket(session), Source::kLive});
                });
            }
        }
        CHECK(books.count("fixture") == 1);
        CHECK(books.count("match_events") == 6);
        CHECK(books.count("event_bump_log") == 18);
        CHECK(books.wrong_totals() == 0);
    }
}

TEST_CASE("capture.race: a storm of repeated and shuffled answers from several writers ends like one quiet pass") {
    FTL_RNG(rng);
    Books quiet;
    Books storm;
    std::vector<FixtureSnapshot> answers;
    for (int goals = 0; goals <= 8; ++goals) answers.push_back(grown(1, goals));
    for (const auto& answer : answers) quiet.store(answer);

    // Tickets belong to answers: an answer that is delivered late or twice still carries its own.
    std::vector<std::pair<std::int64_t, FixtureSnapshot>> sent;
    for (const auto& answer : answers) sent.emplace_back(draw_ticket(storm.session()), answer);
    std::vector<std::vector<std::size_t>> orders(3);
    for (auto& order : orders) {
        for (int i = 0; i < 30; ++i) {
            order.push_back(static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(sent.size()) - 1)));
        }
        for (std::size_t i = 0; i < sent.size(); ++i) order.push_back(i);
        std::shuffle(order.begin(), order.end(), rng.engine());
    }
    {
        std::vector<std::jthread> writers;
        for (const auto& order : orders) {
            writers.emplace_back([&] {
                ftlfeed::store::Session session(storm.settings());
                for (const auto place : order) {
                    Ingest("sportmonks").store(session, sent[place].second, {sent[place].first, Source::kLive});
                }
            });
        }
    }
    const std::string kState = R"(SELECT string_agg(line, E'\n' ORDER BY line) FROM (
        SELECT concat_ws(' ', provider_event_id, type, minute, team_side, player_name, revision_kind) AS line FROM match_event_current
        UNION ALL SELECT concat_ws(' ', kind, provider_id, total) FROM instrument_bump JOIN instrument i ON i.id = instrument_id
        UNION ALL SELECT concat_ws(' ', provider_event_id, role, sum(micro)) FROM event_bump_log GROUP BY provider_event_id, role
        UNION ALL SELECT concat_ws(' ', state, home_score, away_score) FROM fixture) x)";
    CHECK(storm.value(kState) == quiet.value(kState));
    CHECK(storm.wrong_totals() == 0);
}

TEST_CASE("capture.race: whatever a provider says in whatever order the totals are the recount of the current events") {
    FTL_RNG(rng);
    Books books;
    for (int step = 0; step < rounds(60, 600); ++step) {
        auto snapshot = fixture(rng.between(1, 2));
        std::vector<EventSnapshot> rows;
        for (std::int64_t id = 1; id <= kProviderEvents / 6; ++id) {
            if (rng.chance(0.3)) continue;  // Not there yet, or vanished.
            const auto type = rng.chance(0.6) ? kGoal : (rng.chance(0.5) ? kOwnGoal : kYellowCard);
            auto row = event(snapshot.id * 1000 + id, type, rng.chance(0.5) ? kHomeTeam : kAwayTeam,
                             rng.between(101, 104), static_cast<std::int32_t>(rng.between(1, 90)));
            if (rng.chance(0.3)) row.related_player = NamedRef{rng.between(101, 104), "Assist"};
            rows.push_back(row);
        }
        snapshot =
            at_score(with(snapshot, rows), static_cast<int>(rng.between(0, 6)), static_cast<int>(rng.between(0, 6)));
        // Now and then an answer comes late: with the ticket of an earlier request.
        const auto ticket = draw_ticket(books.session());
        books.store(snapshot, rng.chance(0.2) ? std::max<std::int64_t>(1, ticket - 5) : ticket);
    }
    CHECK(books.wrong_totals() == 0);
    // What each event should be worth by its current revision and the rules, against the net of its entries.
    CHECK(books.count(R"((
        SELECT m.fixture_id, m.provider_event_id, i.id AS instrument_id, r.role, sum(r.micro) AS wanted
        FROM match_event_current m
        JOIN fixture f ON f.id = m.fixture_id
        JOIN bump_rule r ON r.event_id = f.event_id AND r.type_id = m.type_id
        LEFT JOIN player s ON s.id = m.player_id
        LEFT JOIN player a ON a.id = m.assist_player_id
        LEFT JOIN participant t ON t.id = CASE m.team_side WHEN 'home' THEN f.home_id WHEN 'away' THEN f.away_id END
        LEFT JOIN participant o ON o.id = CASE m.team_side WHEN 'home' THEN f.away_id WHEN 'away' THEN f.home_id END
        JOIN instrument i ON (r.role = 'scorer' AND m.type_id <> 15 AND i.kind = 'player' AND i.provider_id = s.provider_id)
                          OR (r.role = 'own_goal' AND m.type_id = 15 AND i.kind = 'player' AND i.provider_id = s.provider_id)
                          OR (r.role = 'assist' AND i.kind = 'player' AND i.provider_id = a.provider_id)
                          OR (r.role = 'team' AND i.kind = 'team' AND i.provider_id = t.provider_id)
                          OR (r.role = 'opponent' AND i.kind = 'team' AND i.provider_id = o.provider_id)
        GROUP BY 1, 2, 3, 4) w
        FULL JOIN (SELECT fixture_id, provider_event_id, instrument_id, role, sum(micro) AS net FROM event_bump_log
                   GROUP BY 1, 2, 3, 4 HAVING sum(micro) <> 0) l USING (fixture_id, provider_event_id, instrument_id, role)
        WHERE wanted IS DISTINCT FROM net)") == 0);
    CHECK(books.count("event_bump_log") > 20);
}

TEST_CASE("capture.ledger: the same role and instrument and entry of one event cannot be stored twice") {
    // Finding C6: the key names provider and fixture and role too.
    Books books;
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0));
    CHECK_THROWS(
        books.database().exec("INSERT INTO event_bump_log (provider, fixture_id, provider_event_id, instrument_id, "
                              "role, entry, micro, instrument_seq) "
                              "SELECT provider, fixture_id, provider_event_id, instrument_id, role, entry, 1, 1 FROM "
                              "event_bump_log LIMIT 1"));
    // Another role, another provider's event of the same id, and the next entry each have a place of their own.
    for (const std::string columns :
         {"provider, 'other', entry", "'other', role, entry", "provider, role, entry + 1"}) {
        CAPTURE(columns);
        CHECK_NOTHROW(books.database().exec(
            "INSERT INTO event_bump_log (provider, role, entry, fixture_id, provider_event_id, instrument_id, micro, "
            "instrument_seq) SELECT " +
            columns +
            ", fixture_id, provider_event_id, instrument_id, 1, 1 FROM event_bump_log WHERE role = 'scorer' AND "
            "provider = 'sportmonks' AND entry = 0"));
    }
}

TEST_CASE("capture.ledger: a total beyond 2^53 is refused with its fixture's whole change and the reason is told") {
    Books books;
    books.database().exec("UPDATE bump_rule SET micro = 9007199254740991 WHERE type_id = 14 AND role = 'scorer'");
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0));
    CHECK(books.total("player", 101) == "9007199254740991");  // 2^53 - 1: every reader is exact.
    try {
        books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10), goal(502, kHomeTeam, 101, 20)}), 2, 0));
        FAIL("it was stored");
    } catch (const ftlfeed::core::Failure& failure) {
        CHECK(failure.native_code() == "23514");
        CHECK(std::string(failure.what()).find("instrument_bump") != std::string::npos);
    }
    CHECK(books.total("player", 101) == "9007199254740991");
    CHECK(books.value("SELECT home_score FROM fixture") == "1");
    CHECK(books.count("match_events") == 1);
    CHECK(books.count("event_quarantine") == 0);
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("capture.ledger: one fixture's change moves each instrument's seq once and has one tick for it") {
    Books books;
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10), goal(502, kHomeTeam, 101, 20)}), 2, 0));
    CHECK(books.value(
              "SELECT seq || ' ' || total FROM instrument_bump JOIN instrument i ON i.id = instrument_id WHERE kind = "
              "'player' AND provider_id = 101") == "1 2000");
    CHECK(books.value("SELECT count(DISTINCT instrument_seq) FROM event_bump_log") == "1");
    CHECK(books.count("price_tick") == 3);
    CHECK(books.wrong_totals() == 0);
}
