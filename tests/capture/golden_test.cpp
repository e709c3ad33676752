#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <map>

#include <ftlfeed/capture/score_keeper.hpp>
#include <ftlfeed/capture/vocabulary.hpp>
#include <ftlfeed/core/failure.hpp>

#include "capture/sportmonks_failure.hpp"
#include "support/paths.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed::capture;
using ftlfeed::core::Failure;

namespace {

constexpr std::int64_t kPenaltyId = 140'000'001;
constexpr std::int64_t kOwnGoalId = 140'000'002;
constexpr std::int64_t kLastGoalId = 140'000'003;

std::filesystem::path golden_folder() { return ftl::test::source_dir() / "tests" / "sim" / "golden"; }
std::string golden(const std::string& name) { return ftl::test::read_file(golden_folder() / name); }

SportmonksAnswer read(const std::string& name) { return parse_answer(golden(name + ".json")); }

FixtureSnapshot only(const std::string& name) {
    CAPTURE(name);
    auto answer = read(name);
    REQUIRE(answer.fixtures.size() == 1);
    REQUIRE(answer.rejected.empty());
    return answer.fixtures.front();
}

const EventSnapshot& event_of(const FixtureSnapshot& fixture, std::int64_t id) {
    for (const auto& event : fixture.events) {
        if (event.id == id) return event;
    }
    throw std::runtime_error("no event " + std::to_string(id));
}

}  // namespace

TEST_CASE("capture.golden: every answer that the simulator must produce is read or refused as what it is") {
    const std::map<std::string, int> statuses{{"error_unauthenticated", 401},
                                              {"error_not_found", 404},
                                              {"error_too_many_requests", 429},
                                              {"error_server", 500}};
    int answers = 0;
    int errors = 0;
    for (const auto& entry : std::filesystem::directory_iterator(golden_folder())) {
        const auto name = entry.path().stem().string();
        if (entry.path().extension() != ".json" || name.starts_with("variant_")) continue;
        CAPTURE(name);
        ftlfeed::net::HttpResponse response;
        response.body = ftl::test::read_file(entry.path());
        response.status = 200;
        if (name.starts_with("error_")) response.status = statuses.contains(name) ? statuses.at(name) : 422;
        const auto body = read_body(response);
        const auto failure = sportmonks_failure(response, body, std::nullopt);
        CHECK(failure.has_value() == name.starts_with("error_"));
        if (failure) {
            ++errors;
            continue;
        }
        ++answers;
        REQUIRE(body);
        CHECK(body->rejected.empty());
        for (const auto& fixture : body->fixtures) {
            CHECK(fixture.is_known_state);
            CHECK(fixture.kickoff);
            for (const auto& event : fixture.events) CHECK(event.player);
        }
    }
    CHECK(answers >= 20);
    CHECK(errors >= 16);
}

TEST_CASE("capture.golden: the finished match is read in every field that is stored") {
    const auto fixture = only("fixture_finished");
    CHECK(fixture.id == 19'000'001);
    CHECK(fixture.season_id == 1);
    CHECK(fixture.home->name == "Qalat");
    CHECK(fixture.away->name == "Évora");
    CHECK(fixture.state == "FT");
    CHECK(fixture.is_terminal);
    CHECK(fixture.score == Score{1, 2});
    CHECK(fixture.half_score == Score{1, 1});
    CHECK_FALSE(fixture.group.empty());
    CHECK_FALSE(fixture.round.empty());
    const auto& own_goal = event_of(fixture, kOwnGoalId);
    CHECK(own_goal.type_id == kOwnGoal);
    CHECK(own_goal.minute == 45);
    CHECK(own_goal.extra_minute == 2);
    CHECK(own_goal.player->name == "Zoë O'Neil");
    CHECK(own_goal.result == Score{1, 1});
    const auto sides = decide_sides(fixture, {});
    CHECK(sides.at(kPenaltyId) == Side::kHome);
    CHECK(sides.at(kOwnGoalId) == Side::kAway);
    CHECK(sides.at(kLastGoalId) == Side::kAway);
}

TEST_CASE("capture.golden: the phases of extra time and shoot-out have the right state and score") {
    CHECK(only("inplay_brief_full_time").state == "FT");
    CHECK(only("inplay_break").state == "BREAK");
    CHECK_FALSE(only("inplay_break").is_terminal);
    const auto over = only("inplay_after_penalties");
    CHECK(over.state == "FT_PEN");
    CHECK(over.score == Score{3, 3});
    CHECK(over.shootout);
    CHECK_FALSE(only("fixture_not_started").score);
    CHECK_FALSE(only("fixture_not_started").has_started);
}

TEST_CASE("capture.golden: variants in spelling alone are the same fixture to the digest") {
    const auto expected = digest(only("fixture_finished"));
    for (const char* name :
         {"variant_numbers_as_texts", "variant_numbers_as_doubles", "variant_empty_texts", "variant_extra_minute_zero",
          "variant_extra_minute_absent", "variant_extra_minute_zero_text", "variant_event_twice_equal",
          "variant_unknown_keys", "variant_older_event_keys", "variant_starting_at_iso", "variant_assist_absent",
          "variant_score_type_ids"}) {
        CAPTURE(name);
        CHECK(digest(only(name)) == expected);
    }
}

TEST_CASE("capture.golden: a variant that says another thing is read as that thing") {
    const auto finished = only("fixture_finished");
    const auto mirrored = only("variant_own_goal_mirrored");
    CHECK(event_of(mirrored, kOwnGoalId).participant_id != event_of(finished, kOwnGoalId).participant_id);
    CHECK(decide_sides(mirrored, {}) == decide_sides(finished, {}));

    CHECK(only("variant_unknown_state").state_id == 27);
    CHECK_FALSE(only("variant_unknown_state").is_terminal);
    CHECK(only("variant_state_pending_named_pen").state == "PENDING");
    CHECK_FALSE(only("variant_events_absent").has_event_list);
    CHECK(only("variant_events_empty_with_score").events.empty());
    CHECK_FALSE(only("variant_no_participants").home);

    const auto blanks = only("variant_names_with_blanks");
    for (const auto& event : blanks.events) {
        const auto side = decide_sides(finished, {}).at(event.id);
        CHECK(content_hash(event, side) == content_hash(event_of(finished, event.id), side));
        CHECK_FALSE(event.player->name.ends_with(' '));
    }
    bool has_rescinded = false;
    for (const auto& event : only("variant_goal_rescinded").events) has_rescinded |= event.rescinded == true;
    CHECK(has_rescinded);
    bool has_none = false;
    for (const auto& event : only("variant_player_null").events) has_none |= !event.player;
    CHECK(has_none);
    bool has_review = false;
    for (const auto& event : only("variant_goal_under_review").events) has_review |= event.type_id == kVar;
    CHECK(has_review);
    bool has_no_minute = false;
    for (const auto& event : only("variant_minute_null").events) has_no_minute |= !event.minute && !event.extra_minute;
    CHECK(has_no_minute);
}

TEST_CASE("capture.golden: variants with one bad row lose that row alone") {
    const auto whole = only("fixture_finished").events.size();
    for (const char* name : {"variant_minute_garbage", "variant_minute_fraction", "variant_nul_in_name"}) {
        CAPTURE(name);
        const auto fixture = only(name);
        CHECK(fixture.rejected.size() == 1);
        CHECK(fixture.events.size() == whole - 1);
    }
    const auto twice = only("variant_event_twice_different");
    CHECK(twice.rejected.size() == 2);
    CHECK(twice.events.size() == whole - 1);
}

TEST_CASE("capture.golden: what is no answer is refused whole") {
    for (const char* name : {"variant_cut_in_the_middle.txt", "variant_html.txt", "variant_nothing.txt"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(static_cast<void>(parse_answer(golden(name))), Failure);
    }
    CHECK_FALSE(read("variant_data_id_null").has_data);
    CHECK_FALSE(read("variant_between_data_absent").has_data);
    CHECK_FALSE(read("fixture_none").has_data);
    CHECK(read("inplay_nothing").has_data);
}

TEST_CASE("capture.golden: pages go on by number and text and URL and cursor") {
    for (const char* name : {"between_first_page", "between_next_page_number", "between_next_page_text"}) {
        CAPTURE(name);
        CHECK(read(name).has_more);
        CHECK(read(name).next_page == 2);
    }
    CHECK(read("variant_next_cursor").has_more);
    CHECK_FALSE(read("between_last_page").has_more);
    CHECK_FALSE(read("fixture_free_plan").provider_time);
    CHECK(read("fixture_finished").provider_time);
}
