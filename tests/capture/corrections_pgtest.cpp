#include <doctest/doctest.h>

#include "books.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;
using Outcome = StoreResult::Outcome;

namespace {

std::string events_now(const Books& books) {
    return books.value(
        "SELECT string_agg(provider_event_id || ' ' || type || ' ' || minute, ', ' ORDER BY provider_event_id) "
        "FROM match_event_current");
}

std::string revisions(const Books& books) {
    return books.value(
        "SELECT string_agg(e.provider_event_id || ' ' || r.kind, ', ' ORDER BY r.id) "
        "FROM match_event_revision r JOIN match_events e ON e.id = r.match_event_id");
}

FixtureSnapshot with_goal(std::int64_t id, std::int32_t minute) {
    return at_score(with(fixture(), {goal(id, kHomeTeam, 101, minute)}), 1, 0);
}

FixtureSnapshot with_one_card() { return with(fixture(), {event(1, kYellowCard, kHomeTeam, 101, 5)}); }
FixtureSnapshot with_two_cards() { return with(with_one_card(), {event(2, kRedCard, kHomeTeam, 102, 6)}); }

}  // namespace

TEST_CASE("B01: a happening under a new id and minute is one with a revision and without a second bump") {
    Books books;
    const auto own_goal = [](std::int64_t id, std::int32_t minute) {
        return at_score(with(fixture(), {event(id, kOwnGoal, kAwayTeam, 201, minute)}), 1, 0);
    };
    books.store(own_goal(223, 38));
    const auto result = books.store(own_goal(224, 37));
    CHECK(result.events_new == 0);
    CHECK(result.ledger_entries == 0);
    CHECK(result.has_open_questions);
    CHECK(events_now(books) == "223 own_goal 37");
    CHECK(revisions(books) == "223 reissued");
    CHECK(books.value("SELECT standing FROM match_event_reissue") == "provisional");
    CHECK_FALSE(books.store(own_goal(224, 37)).has_open_questions);
    CHECK(books.value("SELECT standing FROM match_event_reissue") == "confirmed");
    CHECK(books.store(own_goal(224, 37)).outcome == Outcome::kUnchanged);
    CHECK(revisions(books) == "223 reissued");
    CHECK(books.count("event_bump_log") == 3);
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("B03: when both ids are there after all they are two happenings and each is bumped once") {
    Books books;
    books.store(with_goal(501, 37));
    books.store(with_goal(502, 38));
    CHECK(books.total("player", 101) == "1000");
    const auto both = at_score(with(fixture(), {goal(501, kHomeTeam, 101, 37), goal(502, kHomeTeam, 101, 38)}), 2, 0);
    CHECK(books.store(both).events_new == 1);
    books.store(both);
    CHECK(books.value("SELECT standing FROM match_event_reissue") == "parted");
    CHECK(events_now(books) == "501 goal 37, 502 goal 38");
    CHECK(books.total("player", 101) == "2000");
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("B05: a goal that the score and the video referee take back is withdrawn and reversed once") {
    Books books;
    books.store(with_goal(501, 60));
    auto var = event(510, kVar, kHomeTeam, 101, 61);
    var.verdict = VarVerdict::kTakesBack;
    const auto without = with(fixture(), {var});
    CHECK(books.store(without).withdrawals == 1);
    for (int i = 0; i < 5; ++i) CHECK(books.store(without).withdrawals == 0);
    CHECK(events_now(books) == "510 var 61");
    CHECK(revisions(books) == "501 withdrawn");
    CHECK(books.count("match_events") == 2);  // Not deleted from history.
    CHECK(books.value("SELECT string_agg(entry || ':' || micro, ' ' ORDER BY b.id) FROM event_bump_log b "
                      "JOIN instrument i ON i.id = instrument_id WHERE provider_id = 101") == "0:1000 1:-1000");
    CHECK(books.total("team", kHomeTeam) == "0");
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("capture.corrections: what was withdrawn and comes back is reinstated and bumped again once") {
    Books books;
    books.store(with_goal(501, 60));
    books.store(fixture());
    CHECK(books.total("player", 101) == "0");
    for (int i = 0; i < 3; ++i) books.store(with_goal(501, 60));
    CHECK(revisions(books) == "501 withdrawn, 501 reinstated");
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.count("event_bump_log") == 9);
    CHECK(events_now(books) == "501 goal 60");
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("capture.corrections: an event that is missing without more is withdrawn by the third complete answer") {
    Books books;
    const auto both = with_two_cards();
    const auto one = with_one_card();
    books.store(both);
    CHECK(books.store(one).has_open_questions);
    CHECK(books.store(both).has_open_questions == false);  // Back again: the count begins anew.
    CHECK(books.store(one).withdrawals == 0);
    CHECK(books.store(one).withdrawals == 0);
    CHECK(books.value("SELECT has_open_questions FROM fixture") == "t");
    CHECK(books.store(one).withdrawals == 1);
    CHECK(books.value("SELECT has_open_questions FROM fixture") == "f");
    CHECK(books.count("match_event_absence") == 0);
}

TEST_CASE("capture.corrections: an answer by id confirms an absence") {
    Books books;
    const auto both = with_two_cards();
    const auto one = with_one_card();
    books.store(both);
    CHECK(books.store_by_id(one).withdrawals == 0);
    CHECK(books.store_by_id(one).withdrawals == 1);
}

TEST_CASE("capture.corrections: an older answer takes nothing back and links nothing") {
    Books books;
    const auto early = draw_ticket(books.session());
    books.store(with_goal(501, 60));
    CHECK(books.store(fixture(), early).withdrawals == 0);
    CHECK(books.store(with_goal(502, 61), early).events_new == 1);
    CHECK(books.count("match_event_reissue") == 0);
    CHECK(books.count("match_event_absence") == 0);
}

TEST_CASE("capture.corrections: an older answer leaves a question open") {
    Books books;
    const auto early = draw_ticket(books.session());
    books.store(with_two_cards());
    CHECK(books.store(with_one_card()).has_open_questions);
    CHECK(books.store(with_two_cards(), early).has_open_questions);
    CHECK(books.value("SELECT has_open_questions FROM fixture") == "t");
}

TEST_CASE("B27: answers with and without events in turn take nothing back") {
    Books books;
    const auto full =
        at_score(with(fixture(), {goal(501, kHomeTeam, 101, 60), event(2, kYellowCard, kAwayTeam, 201, 6)}), 1, 0);
    const auto empty = at_score(fixture(), 1, 0);
    for (int i = 0; i < 6; ++i) books.store(i % 2 == 0 ? full : empty);
    for (int i = 0; i < 6; ++i) books.store_by_id(empty);
    CHECK(books.count("match_event_revision") == 0);
    CHECK(books.count("match_event_current") == 2);
    CHECK(books.count("event_bump_log") == 3);
}

TEST_CASE("B11: a card that is rescinded a day after the match reverses its bump once") {
    Books books;
    books.database().exec(
        "INSERT INTO bump_rule (event_id, type_id, role, micro) SELECT id, 20, 'scorer', -300 FROM event");
    const auto card = [](std::optional<bool> rescinded) {
        auto row = event(701, kRedCard, kHomeTeam, 101, 80);
        row.rescinded = rescinded;
        return row;
    };
    books.store(with(fixture(), {card(std::nullopt)}));
    const auto over = in_state(fixture(), 5, "FT");
    books.store(with(over, {card(std::nullopt)}));
    CHECK(books.total("player", 101) == "-300");
    for (int i = 0; i < 3; ++i) books.store_by_id(with(over, {card(true)}));
    CHECK(revisions(books) == "701 corrected");
    CHECK(books.total("player", 101) == "0");
    CHECK(books.count("event_bump_log") == 2);
}

TEST_CASE("B13: the score of an answer that its goals do not add up to is marked") {
    Books books;
    books.store(with(fixture(), {goal(501, kHomeTeam, 101, 10)}));
    CHECK(books.value("SELECT is_score_explained FROM fixture") == "f");
    books.store(with_goal(501, 10));
    CHECK(books.value("SELECT is_score_explained FROM fixture") == "t");
    CHECK(books.total("player", 101) == "1000");
}

TEST_CASE("capture.corrections: with keep what is taken back stays worth what it was") {
    Ingest::Options options;
    options.on_withdrawal = OnWithdrawal::kKeep;
    Books books(options);
    books.store(with_goal(501, 60));
    CHECK(books.store(fixture()).withdrawals == 1);
    CHECK(books.count("match_event_current") == 0);
    CHECK(books.total("player", 101) == "1000");
    books.store(with_goal(501, 60));
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.count("event_bump_log") == 3);
}

TEST_CASE("capture.corrections: after the end a withdrawal is reversed and what comes late is not bumped") {
    Books books;
    books.store(with_goal(501, 60));
    books.store(in_state(with_goal(501, 60), 5, "FT"));
    books.store(in_state(fixture(), 5, "FT"));
    CHECK(books.total("player", 101) == "0");
    books.store(in_state(at_score(with(fixture(), {goal(502, kHomeTeam, 102, 85)}), 1, 0), 5, "FT"));
    CHECK(books.count(
              "instrument_bump b JOIN instrument i ON i.id = instrument_id WHERE provider_id = 102 AND total <> 0") ==
          0);
    books.store(in_state(with_goal(501, 60), 5, "FT"));
    CHECK(books.total("player", 101) == "1000");
}
