#include "provider.hpp"

#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "generate.hpp"
#include "golden.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;
using namespace std::chrono_literals;

namespace {

const std::string kInplay = "/v3/football/livescores/inplay";
const std::string kEvents = kInplay + "?include=participants;scores;state;events";
const std::string kFixtures = "/v3/football/fixtures/";

rapidjson::Document json_of(const ProviderAnswer& answer) {
    rapidjson::Document document;
    document.Parse(answer.body.data(), answer.body.size());
    REQUIRE_FALSE(document.HasParseError());
    return document;
}

std::vector<std::int64_t> ids_of(const ProviderAnswer& answer) {
    std::vector<std::int64_t> ids;
    const auto document = json_of(answer);
    for (const auto& fixture : document["data"].GetArray()) ids.push_back(fixture["id"].GetInt64());
    return ids;
}

std::string header_of(const ProviderAnswer& answer, const std::string& name) {
    for (const auto& [known, value] : answer.headers) {
        if (known == name) return value;
    }
    return "none";
}

Tournament generated(std::uint64_t seed) { return parse_tournament(generate_tournament({.seed = seed, .teams = 8})); }

/// What a reader that polls to the end has seen.
struct Seen {
    std::set<std::int64_t> events;
    std::map<std::int64_t, int> last_state;
    std::map<std::int64_t, Goals> last_score;
    int away_first = 0;
    int lists = 0;
};

Seen read_to_the_end(Playback& play) {
    Seen seen;
    for (std::size_t n = 0; n <= play.status().instants && !play.status().at_end; ++n) {
        const auto document = json_of(play.get(kEvents));
        for (const auto& fixture : document["data"].GetArray()) {
            const auto id = fixture["id"].GetInt64();
            seen.last_state[id] = fixture["state_id"].GetInt();
            for (const auto& event : fixture["events"].GetArray()) seen.events.insert(event["id"].GetInt64());
            for (const auto& row : fixture["scores"].GetArray()) {
                if (std::string(row["description"].GetString()) != "CURRENT") continue;
                const bool is_home = std::string(row["score"]["participant"].GetString()) == "home";
                seen.last_score[id].of(is_home ? Side::kHome : Side::kAway) = row["score"]["goals"].GetInt();
            }
            ++seen.lists;
            if (std::string(fixture["participants"][0]["meta"]["location"].GetString()) == "away") ++seen.away_first;
        }
    }
    return seen;
}

}  // namespace

TEST_CASE("sim.provider: who polls in-play to the end has seen every event and every end and every final score") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        const auto cup = generated(seed);
        Playback play(cup);
        const auto seen = read_to_the_end(play);
        CHECK(play.status().at_end);
        CHECK(play.status().terminal == cup.matches.size());
        std::size_t events = 0;
        for (const auto& match : cup.matches) {
            events += match.events.size() + match.kicks.size();
            CHECK(seen.last_score.at(match.id) == match.final_score());
            const int end = match.shootout ? 8 : match.extra_time ? 7 : 5;
            CHECK(seen.last_state.at(match.id) == end);
        }
        CHECK(seen.events.size() == events);
    }
}

TEST_CASE("sim.provider: participants come away first sometimes and home first sometimes") {
    Playback play(generated(1));
    const auto seen = read_to_the_end(play);
    CHECK(seen.away_first > seen.lists / 4);
    CHECK(seen.away_first < seen.lists * 3 / 4);
}

TEST_CASE("sim.provider: the seed alone decides the order of rows") {
    ProviderSettings other;
    other.seed = 2;
    const auto at = [](Playback play) { return play.poll_until("2022-11-20T19:46:30Z", kEvents).body; };
    CHECK(at(Playback("shape_2022.json")) == at(Playback("shape_2022.json")));
    CHECK(at(Playback("shape_2022.json")) != at(Playback("shape_2022.json", other)));
}

TEST_CASE("sim.provider: an answer that was not delivered leaves the clock and the list as they are") {
    Playback play("shape_2022.json");
    REQUIRE(play.poll_until("2022-11-20T20:50:30Z", kEvents).status == 200);
    const auto first = play.ask(kEvents);
    CHECK(utc_text(play.status().clock) == "2022-11-20T20:51:00Z");
    CHECK(ids_of(first) == std::vector<std::int64_t>{19'000'001});
    CHECK(ids_of(play.get(kEvents)) == std::vector<std::int64_t>{19'000'001});
    CHECK(utc_text(play.status().clock) == "2022-11-20T20:51:00Z");
    CHECK(ids_of(play.get(kEvents)) == std::vector<std::int64_t>{19'000'003});
}

TEST_CASE("sim.provider: reads by id and by date and refused requests do not move the clock") {
    Playback play("shape_2022.json");
    REQUIRE(play.poll_until("2022-11-20T19:11:30Z", kEvents).status == 200);
    (void)play.get(kFixtures + "19000001");
    (void)play.get(kFixtures + "between/2022-11-01/2022-12-31");
    (void)play.get(kInplay + "?include=goalkeepers");
    play.token = "wrong";
    (void)play.get(kInplay);
    CHECK(utc_text(play.status().clock) == "2022-11-20T19:11:30Z");
}

TEST_CASE("sim.provider: a match that ended stays in the list until one more poll was answered") {
    Playback play("shape_2022.json");
    REQUIRE(play.poll_until("2022-11-20T20:49:00Z", kEvents).status == 200);
    CHECK_FALSE(play.status().at_end);
    CHECK(play.status().terminal == 1);
    CHECK(ids_of(play.get(kEvents)) == std::vector<std::int64_t>{19'000'001});
    const auto by_id = json_of(play.get(kFixtures + "19000002"));
    CHECK(by_id["data"]["state_id"].GetInt() == 5);
}

TEST_CASE("sim.provider: the end is reached when the last match that ended was delivered") {
    Playback play("shape_2022.json");
    REQUIRE(play.poll_until("2022-12-18T20:32:00Z", kEvents).status == 200);
    (void)play.ask(kEvents);
    CHECK(play.status().terminal == 3);
    CHECK_FALSE(play.status().at_end);
    (void)play.get(kEvents);
    CHECK(play.status().at_end);
    CHECK(ids_of(play.get(kEvents)).empty());
}

TEST_CASE("sim.provider: a match without a score never starts and does not keep the end away") {
    Playback play("shape_2026.json");
    (void)read_to_the_end(play);
    CHECK(play.status().at_end);
    CHECK(play.status().terminal == 2);
    CHECK(json_of(play.get(kFixtures + "19000003"))["data"]["state_id"].GetInt() == 1);
}

TEST_CASE("sim.provider: the token comes as header or parameter and must be known") {
    Playback play("shape_2022.json");
    CHECK(play.get(kInplay).status == 200);
    play.token = "";
    CHECK(play.get(kInplay).status == 401);
    CHECK(play.get(kInplay + "?api_token=sim-token").status == 200);
    CHECK(play.get(kInplay + "?api_token=sim-tokem").status == 401);
    CHECK(play.get("/sim/status").status == 200);
}

TEST_CASE("sim.provider: over the quota every request is refused until its hour is over") {
    ProviderSettings settings;
    settings.quota = 2;
    Playback play("shape_2022.json", settings);
    CHECK(json_of(play.get(kInplay))["rate_limit"]["remaining"].GetInt() == 1);
    play.moment += 10min;
    CHECK(json_of(play.get(kFixtures + "19000001"))["rate_limit"]["resets_in_seconds"].GetInt() == 3000);
    const auto refused = play.get(kInplay);
    CHECK(refused.status == 429);
    CHECK(header_of(refused, "Retry-After") == "3000");
    CHECK(header_of(refused, "X-RateLimit-Limit") == "2");
    CHECK(header_of(refused, "X-RateLimit-Remaining") == "0");
    play.moment += 50min;
    CHECK(play.get(kInplay).status == 200);

    settings.retry_after = false;
    settings.quota = 1;
    Playback silent("shape_2022.json", settings);
    (void)silent.get(kInplay);
    CHECK(header_of(silent.get(kInplay), "Retry-After") == "none");
}

TEST_CASE("sim.provider: pages together have every fixture once and the next one is named without the token") {
    const auto cup = generated(1);
    for (const auto how : {NextPage::kUrl, NextPage::kNumber, NextPage::kText}) {
        ProviderSettings settings;
        settings.next_page = how;
        Playback play(cup, settings);
        std::set<std::int64_t> ids;
        std::size_t rows = 0;
        bool has_more = true;
        for (int page = 1; has_more && page < 20; ++page) {
            const auto answer =
                play.get(kFixtures +
                         "between/2027-01-01/2027-12-31?per_page=3&api_token=sim-token&page=" + std::to_string(page));
            CHECK(answer.body.find("sim-token") == std::string::npos);
            for (const auto id : ids_of(answer)) ids.insert(id);
            rows += ids_of(answer).size();
            has_more = json_of(answer)["pagination"]["has_more"].GetBool();
        }
        CHECK(rows == cup.matches.size());
        CHECK(ids.size() == cup.matches.size());
    }
}

TEST_CASE("sim.provider: filters and order choose fixtures") {
    Playback play("shape_2022.json");
    const auto ids = [&](const std::string& query) {
        return ids_of(play.get(kFixtures + "between/2022-01-01/2022-12-31" + query));
    };
    CHECK(ids("") == std::vector<std::int64_t>{19'000'001, 19'000'002, 19'000'003});
    CHECK(ids("?order=desc") == std::vector<std::int64_t>{19'000'003, 19'000'002, 19'000'001});
    CHECK(ids("?filters=idAfter:19000002") == std::vector<std::int64_t>{19'000'003});
    CHECK(ids("?filters=fixtureSeasons:2").empty());
    CHECK(ids("?filters=fixtureSeasons:2,1;fixtureLeagues:732").size() == 3);
    CHECK(ids("?filters=fixtureLeagues:8").empty());
    const auto populate = play.get(kFixtures + "between/2022-01-01/2022-12-31?include=events&filters=populate");
    CHECK(populate.body.find("\"events\"") == std::string::npos);
    CHECK(json_of(populate)["pagination"]["per_page"].GetInt() == 1000);
}

TEST_CASE("sim.provider: the time zone decides the day of a match and its naive start") {
    Playback play("shape_2026.json");
    const auto on = [&](const std::string& day, const std::string& zone) {
        return ids_of(play.get(kFixtures + "between/" + day + "/" + day + "?timezone=" + zone));
    };
    CHECK(on("2026-07-05", "UTC") == std::vector<std::int64_t>{19'000'002});
    CHECK(on("2026-07-05", "America/New_York").empty());
    CHECK(on("2026-07-04", "America/New_York") == std::vector<std::int64_t>{19'000'002});
    const auto there = json_of(play.get(kFixtures + "19000002?timezone=America/New_York"));
    CHECK(std::string(there["data"]["starting_at"].GetString()) == "2026-07-04 20:30:00");
    CHECK(std::string(there["timezone"].GetString()) == "America/New_York");
    CHECK(there["data"]["starting_at_timestamp"].GetInt64() == 1783211400);
}

TEST_CASE("sim.provider: a request that it does not understand is refused") {
    Playback play("shape_2022.json");
    const auto code = [&](const std::string& target) {
        const auto answer = play.get(target);
        CHECK(answer.status == 422);
        return json_of(answer)["code"].GetInt();
    };
    CHECK(code(kFixtures + "one") == 5006);
    CHECK(code(kFixtures + "between/2022-12-31/2022-01-01") == 5006);
    CHECK(code(kFixtures + "between/2022-1-1/2022-12-31") == 5006);
    CHECK(code(kInplay + "?page=0") == 5006);
    CHECK(code(kInplay + "?includes=events") == 5006);
    CHECK(code(kInplay + "?timezone=../../etc/passwd") == 5006);
    CHECK(code(kInplay + "?per_page=0") == 5003);
    CHECK(play.get("/v2/football/livescores/inplay").status == 404);
    CHECK(play.get(kFixtures + "between/2022-01-01").status == 404);
    Provider provider(sample("shape_2022.json"), {});
    CHECK(provider.answer({"POST", kInplay, "sim-token", ""}, {}).status == 405);
}

TEST_CASE("sim.provider: the season of every fixture is the one asked for") {
    ProviderSettings settings;
    settings.season_id = 4711;
    Playback play("shape_2022.json", settings);
    CHECK(json_of(play.get(kFixtures + "19000001"))["data"]["season_id"].GetInt() == 4711);
}

TEST_CASE("sim.provider: a spoilt answer is spoilt as named and the right one follows at the same instant") {
    ProviderSettings settings;
    settings.faults = {
        {3, Fault::kHtml}, {4, Fault::kStrings}, {5, Fault::kNul}, {6, Fault::kNoEvents}, {7, Fault::kRateLimit}};
    Playback play("shape_2022.json", settings);
    (void)play.get(kEvents);
    (void)play.get(kEvents);
    const auto html = play.get(kEvents);
    CHECK(html.content_type == "text/html; charset=UTF-8");
    CHECK(html.body.starts_with("<!DOCTYPE html>"));
    CHECK(json_of(play.get(kEvents))["data"][0]["id"].IsString());
    const auto nul = json_of(play.get(kEvents));
    const auto& name = nul["data"][0]["events"][0]["player_name"];
    CHECK(std::string(name.GetString(), name.GetStringLength()).find('\0') != std::string::npos);
    const auto empty = json_of(play.get(kEvents));
    CHECK(empty["data"][0]["events"].Empty());
    CHECK_FALSE(empty["data"][0]["scores"].Empty());
    CHECK(play.get(kEvents).status == 429);
    const auto right = json_of(play.get(kEvents));
    CHECK(utc_text(play.status().clock) == "2022-11-20T19:11:30Z");
    CHECK(right["data"][0]["events"].Size() == 1);
}

TEST_CASE("sim.provider: a paced provider shows the same play by the clock") {
    ProviderSettings settings;
    settings.speed = 60;
    Playback play("shape_2022.json", settings);
    (void)play.get(kEvents);
    play.moment += 12s;  // 12 minutes, one of them before kick-off.
    CHECK(ids_of(play.get(kEvents)).size() == 2);
    CHECK(utc_text(play.status().clock) == "2022-11-20T19:11:00Z");
    play.moment += 24h;
    CHECK(ids_of(play.get(kEvents)).size() == 3);
    CHECK(play.status().at_end);
    CHECK(ids_of(play.get(kEvents)).empty());
}
