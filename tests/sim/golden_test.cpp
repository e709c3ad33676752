// The golden answers: what the provider must produce, and what a client must read.
#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <functional>
#include <string>
#include <vector>

#include "api_error.hpp"
#include "golden.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;

namespace {

const std::string kAll =
    "?include=participants;scores;state;periods;events.type;events.subtype;events.relatedPlayer;group;round;stage";
const std::string kInplay = "/v3/football/livescores/inplay";
const std::string kFixture = "/v3/football/fixtures/";
const std::string kBetween = "/v3/football/fixtures/between/2022-11-01/2022-12-31";

struct Golden {
    std::string file;
    std::string data;
    std::string instant;  // Empty: before the first poll.
    std::string target;
    int status = 200;
    std::function<void(ProviderSettings&)> set = [](ProviderSettings&) {};
};

const auto kFreePlan = [](ProviderSettings& settings) { settings.plan_is_paid = false; };
const auto kPagesByNumber = [](ProviderSettings& settings) { settings.next_page = NextPage::kNumber; };
const auto kPagesByText = [](ProviderSettings& settings) { settings.next_page = NextPage::kText; };
const auto kWithoutQuota = [](ProviderSettings& settings) { settings.quota = 1; };
const auto kQuotaAs422 = [](ProviderSettings& settings) {
    settings.quota = 1;
    settings.quota_as_422 = true;
};
const auto kPlanLacksPeriods = [](ProviderSettings& settings) { settings.query.plan_lacks = {"periods"}; };

std::string many_includes() {
    std::string target = kInplay + "?include=state";
    for (int n = 0; n < 30; ++n) target += ";state";
    return target;
}

const std::vector<Golden> kGolden{
    {"inplay_nothing", "shape_2022.json", "2022-11-19T19:00:00Z", kInplay + kAll},
    {"inplay_kick_off_of_two", "shape_2022.json", "2022-11-20T19:00:00Z", kInplay + kAll},
    {"inplay_penalty", "shape_2022.json", "2022-11-20T19:11:30Z", kInplay + kAll},
    {"inplay_own_goal_in_added_time", "shape_2022.json", "2022-11-20T19:46:30Z", kInplay + kAll},
    {"inplay_half_time", "shape_2022.json", "2022-11-20T19:47:00Z", kInplay + kAll},
    {"inplay_full_time", "shape_2022.json", "2022-11-20T20:51:00Z", kInplay + kAll},
    {"inplay_without_includes", "shape_2022.json", "2022-11-20T19:11:30Z", kInplay},
    {"inplay_brief_full_time", "shape_2022.json", "2022-12-18T19:49:00Z", kInplay + kAll},
    {"inplay_break", "shape_2022.json", "2022-12-18T19:50:00Z", kInplay + kAll},
    {"inplay_extra_time", "shape_2022.json", "2022-12-18T20:14:30Z", kInplay + kAll},
    {"inplay_penalties_without_kicks", "shape_2022.json", "2022-12-18T20:32:00Z", kInplay + kAll},
    {"inplay_after_penalties", "shape_2022.json", "2022-12-18T20:40:00Z", kInplay + kAll},
    {"inplay_cards_and_substitution", "extended.json", "2027-07-01T19:52:00Z", kInplay + kAll},
    {"inplay_shootout_kicks", "extended.json", "2027-07-01T20:03:00Z", kInplay + kAll},
    {"inplay_extra_time_goal_of_minute_121", "shape_2026.json", "2026-07-05T02:57:30Z", kInplay + kAll},
    {"fixture_not_started", "shape_2022.json", "", kFixture + "19000001" + kAll},
    {"fixture_finished", "shape_2022.json", "2022-12-18T18:00:00Z", kFixture + "19000001" + kAll},
    {"fixture_free_plan", "shape_2022.json", "", kFixture + "19000003", 200, kFreePlan},
    {"fixture_in_another_time_zone", "shape_2026.json", "", kFixture + "19000001?timezone=America/Mexico_City"},
    {"fixture_none", "shape_2022.json", "", kFixture + "42" + kAll},
    {"between_first_page", "shape_2022.json", "", kBetween + "?per_page=2&include=participants"},
    {"between_last_page", "shape_2022.json", "", kBetween + "?per_page=2&include=participants&page=2"},
    {"between_next_page_number", "shape_2022.json", "", kBetween + "?per_page=2", 200, kPagesByNumber},
    {"between_next_page_text", "shape_2022.json", "", kBetween + "?per_page=2", 200, kPagesByText},
    {"between_nothing", "shape_2022.json", "", "/v3/football/fixtures/between/2021-01-01/2021-01-31"},
    {"error_5000", "shape_2022.json", "", kInplay + "?include=participants.events", 422},
    {"error_5001", "shape_2022.json", "", kInplay + "?include=goalkeepers", 422},
    {"error_5002", "shape_2022.json", "", kInplay + "?include=periods", 422, kPlanLacksPeriods},
    {"error_5003", "shape_2022.json", "", kBetween + "?per_page=51", 422},
    {"error_5004", "shape_2022.json", "", many_includes(), 422},
    {"error_5005", "shape_2022.json", "2022-11-19T19:00:00Z", kFixture + "19000001", 422, kQuotaAs422},
    {"error_5006", "shape_2022.json", "", kBetween + "?timezone=Mars/Olympus", 422},
    {"error_5008", "shape_2022.json", "", kInplay + "?include=events.player.team.venue", 422},
    {"error_5010", "shape_2022.json", "", kBetween + "?filters=venues:7", 422},
    {"error_5013", "shape_2022.json", "", kInplay + "?include=lineups", 422},
    {"error_not_found", "shape_2022.json", "", "/v3/football/livescores/tomorrow", 404},
    {"error_too_many_requests", "shape_2022.json", "2022-11-19T19:00:00Z", kFixture + "19000001", 429, kWithoutQuota},
};

/// Leaves what was produced where a person can compare it.
void check_equal(const std::string& file, const std::string& produced) {
    CAPTURE(file);
    rapidjson::Document expected;
    rapidjson::Document actual;
    const auto text = read_file(sim_file("golden/" + file + ".json"));
    REQUIRE_FALSE(expected.Parse(text.data(), text.size()).HasParseError());
    REQUIRE_FALSE(actual.Parse(produced.data(), produced.size()).HasParseError());
    const bool is_equal = expected == actual;
    if (!is_equal) write_file(binary_dir() / "golden" / (file + ".json"), produced);
    CHECK_MESSAGE(is_equal, "what was produced stands in golden/ of the build folder");
}

ProviderAnswer answer_of(const Golden& golden) {
    ProviderSettings settings;
    golden.set(settings);
    Playback play(golden.data, settings);
    if (golden.instant.empty()) return play.get(golden.target);
    if (golden.target.starts_with(kInplay)) return play.poll_until(golden.instant, golden.target);
    if (play.poll_until(golden.instant, kInplay).status != 200) return {0, "", "", {}, {}, false, {}};
    return play.get(golden.target);
}

}  // namespace

TEST_CASE("sim.golden: the provider produces every golden answer that is no variant") {
    for (const auto& golden : kGolden) {
        CAPTURE(golden.file);
        const auto answer = answer_of(golden);
        CHECK(answer.status == golden.status);
        if (answer.status == golden.status) check_equal(golden.file, answer.body);
    }
}

TEST_CASE("sim.golden: a refused token and a broken server have golden bodies") {
    Playback play("shape_2022.json");
    play.token = "wrong";
    const auto refused = play.get(kInplay);
    CHECK(refused.status == 401);
    check_equal("error_unauthenticated", refused.body);

    ProviderSettings settings;
    settings.faults[1] = Fault::kError;
    const auto broken = Playback("shape_2022.json", settings).get(kInplay);
    CHECK(broken.status == 500);
    check_equal("error_server", broken.body);
    check_equal("error_5007", error_body({ApiCode::kInsufficientResources, ""}));
    check_equal("error_9999", error_body({ApiCode::kUnexpected, ""}));
}
