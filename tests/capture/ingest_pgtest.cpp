#include <doctest/doctest.h>

#include <algorithm>
#include <thread>

#include "books.hpp"
#include "support/rng.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;
using Outcome = StoreResult::Outcome;

namespace {

EventSnapshot with_assist(EventSnapshot row, std::int64_t player) {
    row.related_player = NamedRef{player, "Player " + std::to_string(player)};
    return row;
}

}  // namespace

TEST_CASE("capture.ingest: one snapshot brings fixture and teams and events and bumps and touches in one transaction") {
    Books books;
    const auto result = books.store(at_score(with(fixture(), {with_assist(goal(501, kHomeTeam, 101, 10), 102)}), 1, 0));
    CHECK(result.outcome == Outcome::kStored);
    CHECK(result.events_new == 1);
    CHECK(result.ledger_entries == 4);
    CHECK(books.value("SELECT home_score || '-' || away_score || ' ' || state FROM fixture") == "1-0 INPLAY_2ND_HALF");
    CHECK(books.value(
              "SELECT type || ' ' || minute || ' ' || team_side || ' ' || player_name || ' ' || assist_name || ' ' || "
              "source FROM match_events") == "goal 10 home Player 101 Player 102 live");
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.total("player", 102) == "400");
    CHECK(books.total("team", kHomeTeam) == "200");
    CHECK(books.total("team", kAwayTeam) == "-200");
    CHECK(books.count("price_tick") == 4);
    CHECK(books.value("SELECT string_agg(record_kind || ':' || record_id, ' ' ORDER BY id) FROM outbox") ==
          "fixture:1 event:cup");
    CHECK(books.value("SELECT count(DISTINCT txid) FROM outbox") == "1");
    CHECK(
        books.value(
            "SELECT count(DISTINCT xmin::text) FROM (SELECT xmin FROM fixture UNION ALL SELECT xmin FROM match_events "
            "UNION ALL SELECT xmin FROM event_bump_log UNION ALL SELECT xmin FROM instrument_bump "
            "UNION ALL SELECT xmin FROM price_tick UNION ALL SELECT xmin FROM outbox) x") == "1");
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("capture.ingest: the same snapshot again changes nothing but the ticket") {
    Books books;
    const auto snapshot = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0);
    books.store(snapshot);
    const auto touches = books.count("outbox");
    for (int i = 0; i < 3; ++i) CHECK(books.store(snapshot).outcome == Outcome::kUnchanged);
    CHECK(books.count("outbox") == touches);
    CHECK(books.count("event_bump_log") == 3);
    CHECK(books.value("SELECT ticket FROM fixture") == "4");
}

TEST_CASE("capture.ingest: a season that no event maps is not ours and leaves nothing behind") {
    Books books;
    auto foreign = with(fixture(), {goal(501, kHomeTeam, 101, 10)});
    foreign.season_id = 78;
    CHECK(books.store(foreign).outcome == Outcome::kUnmapped);
    CHECK(books.count("fixture") == 0);
    CHECK(books.count("participant") == 0);
}

TEST_CASE("B15: an own goal bumps both teams by the score and its player only as own goal in both spellings") {
    for (const auto participant : {kHomeTeam, kAwayTeam}) {
        CAPTURE(participant);
        Books books;
        books.store(fixture());
        books.store(at_score(with(fixture(), {event(801, kOwnGoal, participant, 201, 30)}), 1, 0));
        CHECK(books.value("SELECT team_side FROM match_events") == "home");
        CHECK(books.total("player", 201) == "-500");
        CHECK(books.total("team", kHomeTeam) == "200");
        CHECK(books.total("team", kAwayTeam) == "-200");
        CHECK(books.count("event_bump_log WHERE role = 'scorer'") == 0);
        // Whose player it was follows from the score too, not from the participant.
        CHECK(books.value("SELECT t.provider_id FROM player p JOIN participant t ON t.id = p.participant_id") ==
              std::to_string(kAwayTeam));
    }
}

TEST_CASE(
    "B13: an own goal ahead of its score is accepted at once and its teams are bumped once when the score tells") {
    Books books;
    const auto own = event(801, kOwnGoal, kAwayTeam, 201, 30);
    books.store(with(fixture(), {own}));
    CHECK(books.count("event_bump_log") == 1);
    CHECK(books.value("SELECT team_side FROM match_event_current") == "NULL");
    books.store(at_score(with(fixture(), {own}), 1, 0));
    CHECK(books.value("SELECT team_side FROM match_event_current") == "home");
    CHECK(books.count("event_bump_log") == 3);
    // The score lags once more: nothing is taken back.
    books.store(with(fixture(), {own}));
    books.store(at_score(with(fixture(), {own}), 1, 0));
    CHECK(books.count("event_bump_log") == 3);
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("B17: a shoot-out is stored apart from the score and its kicks bump no goal rule") {
    Books books;
    auto snapshot =
        in_state(at_score(with(fixture(), {event(1, kShootoutGoal, kHomeTeam, 101, 120)}), 3, 3), 8, "FT_PEN");
    snapshot.shootout = Score{4, 2};
    books.store(snapshot);
    CHECK(books.value(
              "SELECT home_score || '-' || away_score || ' ' || home_shootout || '-' || away_shootout FROM fixture") ==
          "3-3 4-2");
    CHECK(books.count("event_bump_log") == 0);
}

TEST_CASE("B47: another spelling of a player's name is no revision and the longer one stays") {
    Books books;
    auto row = goal(501, kHomeTeam, 101, 10);
    row.player->name = "P. Layer";
    books.store(with(fixture(), {row}));
    row.player->name = "Peter Layer";
    CHECK(books.store(with(fixture(), {row})).outcome == Outcome::kUnchanged);
    CHECK(books.value("SELECT name FROM player") == "Peter Layer");
    const auto touches = books.count("outbox");
    row.player->name = "P. Layer";
    books.store(with(fixture(), {row}));
    CHECK(books.value("SELECT name FROM player") == "Peter Layer");
    CHECK(books.count("outbox") == touches);
    CHECK(books.count("match_events") == 1);
    CHECK(books.count("match_event_revision") == 0);
}

TEST_CASE("capture.ingest: a team's new name marks every fixture of the team") {
    Books books;
    books.store(fixture(1));
    books.store(fixture(2));
    books.database().exec("DELETE FROM outbox");
    auto renamed = fixture(1);
    renamed.home->name = "Homeland United";
    books.store(renamed);
    CHECK(books.value("SELECT name FROM participant WHERE provider_id = 10") == "Homeland United");
    CHECK(books.count("outbox WHERE record_kind = 'fixture' AND record_id = '2'") == 1);
}

TEST_CASE("capture.ingest: an unknown state is stored raw with one alert that ends when a known one comes") {
    Books books;
    books.store(in_state(fixture(), 27, "NEW_STATE"));
    CHECK(books.value("SELECT state || ' ' || is_terminal FROM fixture") == "NEW_STATE false");
    CHECK(books.count("alert WHERE kind = 'capture.unknown_state' AND cleared_at IS NULL") == 1);
    books.store(fixture());
    CHECK(books.count("alert WHERE kind = 'capture.unknown_state' AND cleared_at IS NULL") == 0);
}

TEST_CASE("capture.ingest: a correction is a revision and what was first recorded stays") {
    Books books;
    books.store(with(fixture(), {goal(501, kHomeTeam, 101, 38)}));
    auto corrected = goal(501, kHomeTeam, 101, 37);
    const auto result = books.store(with(fixture(), {corrected}));
    CHECK(result.revisions == 1);
    CHECK(result.ledger_entries == 0);
    CHECK(books.value("SELECT minute FROM match_events") == "38");
    CHECK(books.value("SELECT minute || ' ' || revision_kind FROM match_event_current") == "37 corrected");
    CHECK(books.store(with(fixture(), {corrected})).outcome == Outcome::kUnchanged);
    CHECK(books.count("match_event_revision") == 1);
}

TEST_CASE("B25: a corrected scorer reverses the first bump and makes the second each once and also after the end") {
    Books books;
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0));
    const auto over = in_state(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0), 5, "FT");
    books.store(over);
    auto corrected = over;
    corrected.events[0].player = NamedRef{102, "Player 102"};
    CHECK(books.store(corrected).ledger_entries == 2);
    books.store(corrected);
    CHECK(books.total("player", 101) == "0");
    CHECK(books.total("player", 102) == "1000");
    CHECK(books.value(
              "SELECT string_agg(entry || ':' || micro, ' ' ORDER BY b.id) FROM event_bump_log b JOIN instrument i "
              "ON i.id = instrument_id WHERE provider_id = 101") == "0:1000 1:-1000");
    CHECK(books.value("SELECT count(*) FROM event_bump_log WHERE revision_id IS NOT NULL") == "2");
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("B07: a goal under review that becomes a goal counts once when it does") {
    Books books;
    books.store(with(fixture(), {event(600, kVar, kHomeTeam, 101, 70)}));
    CHECK(books.count("event_bump_log") == 0);
    books.store(at_score(with(fixture(), {goal(600, kHomeTeam, 101, 70)}), 1, 0));
    books.store(at_score(with(fixture(), {goal(600, kHomeTeam, 101, 70)}), 1, 0));
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.count("match_events") == 1);
}

TEST_CASE(
    "capture.ingest: an event of the last minute that comes with full time is bumped and one that comes later is not") {
    Books books;
    books.store(fixture());
    const auto over = in_state(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 90)}), 1, 0), 5, "FT");
    books.store(over);
    CHECK(books.total("player", 101) == "1000");
    books.store(at_score(with(over, {goal(502, kHomeTeam, 102, 89)}), 2, 0));
    CHECK(books.count("match_events") == 2);
    CHECK(books.total("player", 102) == "0");
    CHECK(books.value("SELECT may_bump FROM match_events WHERE provider_event_id = 502") == "f");
    // A correction of what was never bumped bumps nothing either.
    books.store(at_score(with(over, {goal(502, kHomeTeam, 103, 89)}), 2, 0));
    CHECK(books.total("player", 103) == "0");
}

TEST_CASE("capture.ingest: full time before extra time ends no bumps") {
    Books books;
    books.store(in_state(at_score(fixture(), 1, 1), 5, "FT"));
    CHECK(books.value("SELECT terminal_at IS NOT NULL FROM fixture") == "t");
    books.store(in_state(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 92)}), 2, 1), 6, "INPLAY_ET"));
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.value("SELECT is_terminal FROM fixture") == "f");
    CHECK(books.value("SELECT terminal_at IS NULL FROM fixture") == "t");
}

TEST_CASE("capture.ingest: an id that vanishes from a later answer is kept") {
    Books books;
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10), goal(502, kHomeTeam, 101, 20)}), 2, 0));
    books.store(at_score(with(fixture(), {goal(502, kHomeTeam, 101, 20)}), 2, 0));
    CHECK(books.count("match_event_current") == 2);
    CHECK(books.total("player", 101) == "2000");
}

TEST_CASE("B03: two real goals of one player in one answer are two happenings") {
    Books books;
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 37), goal(502, kHomeTeam, 101, 38)}), 2, 0));
    CHECK(books.count("match_event_current") == 2);
    CHECK(books.total("player", 101) == "2000");
}

TEST_CASE("capture.ingest: an older answer only adds ids that are not known") {
    Books books;
    // The interleaving of finding C5: request 1 starts with scorer 101, request 2 with 102 is committed first.
    const auto older = draw_ticket(books.session());
    const auto newer = draw_ticket(books.session());
    auto late = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10), goal(502, kAwayTeam, 201, 12)}), 1, 1);
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 102, 10)}), 1, 0), newer);
    const auto result = books.store(late, older);
    CHECK(result.events_new == 1);
    CHECK(result.revisions == 0);
    CHECK(books.total("player", 102) == "1000");
    CHECK(books.count("instrument WHERE kind = 'player' AND provider_id = 101") == 1);
    CHECK(books.total("player", 101) == "0");
    CHECK(books.total("player", 201) == "1000");
    CHECK(books.value("SELECT home_score || '-' || away_score FROM fixture") == "1-0");
    CHECK(books.value("SELECT ticket FROM fixture") == std::to_string(newer));
    // And the newest answer, asked again, is not taken for known: its digest stands, but the row has moved.
    CHECK(books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 102, 10)}), 1, 0), newer).outcome ==
          Outcome::kUnchanged);
}

TEST_CASE("capture.ingest: an older answer cannot open a match that is over for new bumps") {
    Books books;
    const auto older = draw_ticket(books.session());
    books.store(in_state(fixture(), 5, "FT"));
    books.store(at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0), older);
    CHECK(books.count("match_events") == 1);
    CHECK(books.total("player", 101) == "0");
    CHECK(books.value("SELECT state FROM fixture") == "FT");
}

TEST_CASE("capture.ingest: an answer without teams or events takes nothing away") {
    Books books;
    const auto whole = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0);
    books.store(whole);
    auto without_teams = whole;
    without_teams.home.reset();
    without_teams.away.reset();
    books.store(without_teams);
    auto without_events = whole;
    without_events.events.clear();
    without_events.has_event_list = false;
    books.store(without_events);
    CHECK(books.count("event_bump_log") == 3);
    CHECK(books.count("match_event_revision") == 0);
    CHECK(books.value("SELECT home_id IS NOT NULL AND away_id IS NOT NULL FROM fixture") == "t");
}

TEST_CASE("capture.ingest: after settlement entries are flagged and reach no total unless configured") {
    Books books;
    const auto before = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 10)}), 1, 0);
    books.store(before);
    books.database().exec("UPDATE fixture SET settled_at = clock_timestamp()");
    auto corrected = before;
    corrected.events[0].player = NamedRef{102, "Player 102"};
    books.store(corrected);
    CHECK(books.count("event_bump_log WHERE after_settlement") == 2);
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.total("player", 102) == "0");
    corrected.events[0].player = NamedRef{103, "Player 103"};
    Ingest("sportmonks", {.bump_after_settlement = true})
        .store(books.session(), corrected, {draw_ticket(books.session()), Source::kReplay});
    CHECK(books.total("player", 103) == "1000");
}
