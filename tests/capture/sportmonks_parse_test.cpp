#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>

#include "capture/sportmonks_parse.hpp"

using namespace ftlfeed::capture;
using ftlfeed::core::Failure;

namespace {

std::string in_envelope(const std::string& data) {
    return R"({"data":)" + data + R"(,"subscription":[{"meta":[],"plans":[]}],"timezone":"UTC"})";
}

std::string a_fixture(const std::string& events, const std::string& more = "") {
    return R"({"id":900,"season_id":77,"state_id":22,"starting_at":"2026-06-11 19:00:00","starting_at_timestamp":1781204400,
        "participants":[{"id":20,"name":"Awayland","meta":{"location":"away"}},
                        {"id":10,"name":"Homeland  ","meta":{"location":"home"}}],
        "scores":[{"id":1,"type_id":1525,"participant_id":20,"score":{"goals":1,"participant":"away"},"description":"CURRENT"},
                  {"id":2,"type_id":1525,"participant_id":10,"score":{"goals":2,"participant":"home"},"description":"CURRENT"}],
        "state":{"id":22,"developer_name":"INPLAY_2ND_HALF","short_name":"2nd"},
        "events":)" +
           events + more + "}";
}

FixtureSnapshot only(const std::string& body) {
    auto answer = parse_answer(body);
    REQUIRE(answer.fixtures.size() == 1);
    REQUIRE(answer.rejected.empty());
    return answer.fixtures.front();
}

FixtureSnapshot with_events(const std::string& events) { return only(in_envelope(a_fixture(events))); }

std::string event_with(const std::string& members) {
    return R"([{"id":501,"type_id":14,"participant_id":10,"player_id":101,"player_name":"p1",)" + members + "}]";
}

}  // namespace

TEST_CASE("capture.parse: teams come by location and scores by description in whatever order") {
    const auto fixture = with_events("[]");
    CHECK(fixture.home == NamedRef{10, "Homeland"});
    CHECK(fixture.away == NamedRef{20, "Awayland"});
    CHECK(fixture.score == Score{2, 1});
    CHECK_FALSE(fixture.shootout);
    CHECK(fixture.is_complete());
    CHECK(fixture.state == "INPLAY_2ND_HALF");
    CHECK(fixture.kickoff->time_since_epoch().count() == 1'781'204'400);
}

TEST_CASE("B21: extra time that is null or 0 or absent or a text is none and gives no revision") {
    const auto base = with_events(event_with(R"("minute":45)"));
    CHECK_FALSE(base.events.at(0).extra_minute);
    for (const char* spelling :
         {R"("minute":45,"extra_minute":null)", R"("minute":45,"extra_minute":0)", R"("minute":45,"extra_minute":"0")",
          R"("minute":45,"extra_minute":"")", R"("minute":"45","extra_minute":0.0)"}) {
        const auto other = with_events(event_with(spelling));
        CAPTURE(spelling);
        CHECK(digest(other) == digest(base));
        CHECK(content_hash(other.events.at(0), Side::kHome) == content_hash(base.events.at(0), Side::kHome));
    }
    const auto no_minute = with_events(event_with(R"("minute":null,"extra_minute":5)"));
    CHECK_FALSE(no_minute.events.at(0).minute);
    CHECK_FALSE(no_minute.events.at(0).extra_minute);
}

TEST_CASE("B39: numbers as texts and whole doubles are read where nothing is lost") {
    const auto fixture = only(in_envelope(R"({"id":"18535517","season_id":77.0,"state_id":"22","group_id":"","events":[
        {"id":"9007199254740993","type_id":"14","minute":"45","extra_minute":"2.0","participant_id":"","player_id":101.0}]})"));
    CHECK(fixture.id == 18'535'517);
    const auto& event = fixture.events.at(0);
    CHECK(event.id == 9'007'199'254'740'993);  // Beyond 2^53: exact as a text.
    CHECK(event.minute == 45);
    CHECK(event.extra_minute == 2);
    CHECK_FALSE(event.participant_id);
    CHECK(event.player->id == 101);
}

TEST_CASE("B39: a number that cannot be read without loss rejects its row alone and is never 0") {
    for (const char* minute : {R"("abc")", "45.5", "true", "[45]", "{}", "99999999999", R"("4 5")", "1e300"}) {
        CAPTURE(minute);
        const auto fixture = with_events(R"([{"id":1,"type_id":14,"minute":)" + std::string(minute) +
                                         R"(},{"id":2,"type_id":14,"minute":3}])");
        REQUIRE(fixture.events.size() == 1);
        CHECK(fixture.events[0].id == 2);
        REQUIRE(fixture.rejected.size() == 1);
        CHECK(fixture.rejected[0].id == 1);
        CHECK(fixture.rejected[0].reason.find("minute") != std::string::npos);
        CHECK_FALSE(fixture.is_complete());
    }
}

TEST_CASE("capture.parse: a row with U+0000 in a name is rejected alone with its bytes as they came") {
    const std::string bad = R"({"id":1,"type_id":14,"player_name":"a\u0000b","minute":3})";
    const auto fixture = with_events("[" + bad + R"(,{"id":2,"type_id":14,"minute":4}])");
    CHECK(fixture.events.size() == 1);
    REQUIRE(fixture.rejected.size() == 1);
    CHECK(fixture.rejected[0].raw == bad);
    // In a member that we do not read it would break the stored payload all the same.
    CHECK(with_events(R"([{"id":1,"type_id":14,"deep":{"x":["\u0000"]}}])").rejected.size() == 1);
    CHECK(with_events(R"([{"id":1,"type_id":14,"k\u0000":1}])").rejected.size() == 1);
    // An escaped backslash before u0000 is a harmless text.
    CHECK(with_events(R"([{"id":1,"type_id":14,"info":"\\u0000"}])").rejected.empty());
}

TEST_CASE("B47: blanks around a name are no part of it") {
    const auto a = with_events(R"([{"id":1,"type_id":14,"player_id":5,"player_name":"p5 Name  "}])");
    const auto b = with_events(R"([{"id":1,"type_id":14,"player_id":5,"player_name":"p5 Name"}])");
    CHECK(a.events[0].player->name == "p5 Name");
    CHECK(digest(a) == digest(b));
}

TEST_CASE("B53: the same id twice counts once when the rows are equal and is rejected whole when they differ") {
    const std::string row = R"({"id":7,"type_id":14,"minute":3})";
    const std::string spelt = R"({"minute":"3","type_id":14,"id":7})";
    const auto once = with_events("[" + row + "," + spelt + "," + row + "]");
    CHECK(once.events.size() == 1);
    CHECK(once.rejected.empty());
    const auto reversed = with_events("[" + spelt + "," + row + "]");
    CHECK(reversed.events == once.events);

    const auto differ = with_events("[" + row + R"(,{"id":7,"type_id":14,"minute":4},{"id":8,"type_id":14}])");
    REQUIRE(differ.events.size() == 1);
    CHECK(differ.events[0].id == 8);
    CHECK(differ.rejected.size() == 2);
}

TEST_CASE("B37: an object whose id is null is no fixture") {
    const auto answer = parse_answer(in_envelope(R"({"id":null,"name":null})"));
    CHECK_FALSE(answer.has_data);
    CHECK(answer.fixtures.empty());
    CHECK(answer.rejected.empty());
}

TEST_CASE("B35: 200 without data and with data that is null or an empty list hold no fixture") {
    CHECK_FALSE(parse_answer(R"({"message":"No result(s) found","subscription":[]})").has_data);
    CHECK_FALSE(parse_answer(in_envelope("null")).has_data);
    const auto empty = parse_answer(in_envelope("[]"));
    CHECK(empty.has_data);
    CHECK(empty.fixtures.empty());
}

TEST_CASE("B49: an answer cut at any byte is no answer and never a partial one") {
    const auto body = in_envelope("[" + a_fixture(event_with(R"("minute":45)")) + "]");
    REQUIRE(parse_answer(body).fixtures.size() == 1);
    for (std::size_t length = 0; length < body.size(); ++length) {
        CHECK_THROWS_AS(static_cast<void>(parse_answer(body.substr(0, length))), Failure);
    }
}

TEST_CASE("capture.parse: HTML and nothing and JSON of another shape are failures that may be retried") {
    for (const char* body : {"", "   ", "<html><body>Bad gateway</body></html>", "null", "[]", "\"data\"",
                             R"({"data":"x"})", R"({"data":7})", "{\"data\":[]} trailing"}) {
        CAPTURE(body);
        try {
            static_cast<void>(parse_answer(body));
            FAIL("read as an answer");
        } catch (const Failure& failure) {
            CHECK(failure.may_retry());
        }
    }
}

TEST_CASE("capture.parse: a million brackets do not overrun the stack") {
    CHECK_THROWS_AS(static_cast<void>(parse_answer(std::string(1'000'000, '['))), Failure);
    const auto deep = std::string(200'000, '[') + std::string(200'000, ']');
    const auto fixture = with_events(R"([{"id":1,"type_id":14,"deep":)" + deep + "}]");
    CHECK(fixture.rejected.size() == 1);
}

TEST_CASE("capture.parse: one bad fixture is rejected and the others are read") {
    for (
        const char* bad :
        {R"({"season_id":77,"state_id":2})", R"({"id":900,"state_id":2})", R"({"id":900,"season_id":77})",
         R"({"id":900,"season_id":77,"state_id":2,"events":{}})", "7", "null",
         R"({"id":900,"season_id":77,"state_id":2,"participants":[{"id":1,"name":"a\u0000","meta":{"location":"home"}}]})"}) {
        CAPTURE(bad);
        const auto answer = parse_answer(in_envelope("[" + std::string(bad) + "," + a_fixture("[]") + "]"));
        CHECK(answer.fixtures.size() == 1);
        REQUIRE(answer.rejected.size() == 1);
        CHECK(answer.rejected[0].raw == bad);
    }
}

TEST_CASE("capture.parse: unknown keys and the order of keys stay in the raw row byte for byte") {
    const std::string row =
        R"({"zeta": 1.50, "id":1,"type_id":14, "big":123456789012345678901234567890, "id2":{"a":[1,2]}})";
    CHECK(with_events("[ " + row + " ]").events.at(0).raw == row);
}

TEST_CASE("capture.parse: the answer says nothing of events when the include is missing") {
    const auto fixture = only(in_envelope(R"({"id":1,"season_id":77,"state_id":1})"));
    CHECK_FALSE(fixture.has_event_list);
    CHECK_FALSE(fixture.is_complete());
    CHECK(only(in_envelope(R"({"id":1,"season_id":77,"state_id":1,"events":[]})")).is_complete());
}

TEST_CASE("B17: the shoot-out is kept apart from the score") {
    const auto fixture = only(in_envelope(R"({"id":1,"season_id":77,"state_id":8,"events":[],"scores":[
        {"score":{"goals":4,"participant":"home"},"description":"PENALTY_SHOOTOUT"},
        {"score":{"goals":3,"participant":"away"},"description":"CURRENT"},
        {"score":{"goals":2,"participant":"away"},"description":"PENALTY_SHOOTOUT"},
        {"score":{"goals":2,"participant":"home"},"description":"1ST_HALF"},
        {"score":{"goals":1,"participant":"away"},"description":"1ST_HALF"},
        {"score":{"goals":3,"participant":"home"},"description":"CURRENT"},
        {"score":{"goals":7,"participant":"home"},"description":"TOTAL"},
        {"score":{"goals":5,"participant":"away"},"description":"TOTAL"}]})"));
    CHECK(fixture.score == Score{3, 3});  // Whatever sum of both somebody makes beside it.
    CHECK(fixture.shootout == Score{4, 2});
    CHECK(fixture.half_score == Score{2, 1});
}

TEST_CASE("capture.parse: 0-0 before the start is no score") {
    const auto fixture = only(in_envelope(R"({"id":1,"season_id":77,"state_id":1,"events":[],"scores":[
        {"score":{"goals":0,"participant":"home"},"description":"CURRENT"},
        {"score":{"goals":0,"participant":"away"},"description":"CURRENT"}]})"));
    CHECK_FALSE(fixture.score);
}

TEST_CASE("B55: an unknown state is kept as the provider wrote it") {
    const auto fixture = only(in_envelope(
        R"({"id":1,"season_id":77,"state_id":27,"state":{"id":27,"developer_name":"NEW_STATE"},"events":[]})"));
    CHECK(fixture.state == "NEW_STATE");
    CHECK_FALSE(fixture.is_known_state);
    CHECK_FALSE(fixture.is_terminal);
    CHECK(only(in_envelope(R"({"id":1,"season_id":77,"state_id":27,"events":[]})")).state == "STATE_27");
}

TEST_CASE("capture.parse: next_page is read as number and text and URL with or without more behind it") {
    const auto next = [](const std::string& value) {
        return parse_answer(R"({"data":[],"pagination":{"has_more":true,"next_page":)" + value + "}}").next_page;
    };
    CHECK(next("2") == 2);
    CHECK(next("\"3\"") == 3);
    CHECK(next(R"("https://api.sportmonks.com/v3/football/fixtures?page=4")") == 4);
    CHECK(next(R"("https://x/v3?per_page=50&page=5&include=events")") == 5);
    CHECK_FALSE(next("null"));
    CHECK_FALSE(next("\"soon\""));
    CHECK(parse_answer(R"({"data":[],"pagination":{"has_more":true}})").has_more);
}

TEST_CASE("capture.parse: meta of the subscription is read as an object and passed over as a list") {
    CHECK_FALSE(parse_answer(R"({"data":[],"subscription":[{"meta":[]}]})").provider_time);
    const auto paid = parse_answer(R"({"data":[],"subscription":[{"meta":{"current_timestamp":1781204400}}]})");
    CHECK(paid.provider_time->time_since_epoch().count() == 1'781'204'400);
}

TEST_CASE("capture.parse: a start without time stamp is read in both spellings and only when it is UTC") {
    const auto kickoff = [](const std::string& text, const std::string& zone) {
        return only(R"({"timezone":")" + zone + R"(","data":{"id":1,"season_id":77,"state_id":1,"starting_at":")" +
                    text + R"("}})")
            .kickoff;
    };
    CHECK(kickoff("2026-06-11 19:00:00", "UTC")->time_since_epoch().count() == 1'781'204'400);
    CHECK(kickoff("2026-06-11T19:00:00.000000Z", "Europe/Paris")->time_since_epoch().count() == 1'781'204'400);
    CHECK_FALSE(kickoff("2026-06-11 19:00:00", "Europe/Paris"));
    CHECK_FALSE(kickoff("2026-02-31 19:00:00", "UTC"));
    CHECK_FALSE(kickoff("soon", "UTC"));
}
