// What the four feeds of the product hold; docs/feeds.md is the page for it.
#include <doctest/doctest.h>

#include <pqxx/result>
#include <string>
#include <vector>

#include <ftlfeed/build/check_definition.hpp>

#include "build/world.hpp"
#include "support/paths.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed;
using namespace ftl::test;

namespace {

using Game = Tournament::Game;

Game game(const std::string& home, const std::string& away, int home_score, int away_score) {
    Game made;
    made.home = home;
    made.away = away;
    made.home_score = home_score;
    made.away_score = away_score;
    made.state = "FT";
    return made;
}

/// The teams of the first table, in their order, with points.
std::string first_table(const World& world) {
    return world.value(
        "SELECT string_agg((r.row ->> 'team') || ' ' || (r.row ->> 'points'), ', ' ORDER BY r.n) FROM"
        " json_array_elements('" +
        world.body("wc/standings") + "'::json -> 'groups' -> 0 -> 'rows') WITH ORDINALITY r (row, n)");
}

void order_by(const World& world, const std::string& words) {
    world.exec("UPDATE event SET tie_break = '{" + words + "}'; SELECT ftl_touch('event', 'wc', 'wc')");
    world.settle();
}

}  // namespace

TEST_CASE("build.feeds: a tournament without fixtures has empty lists") {
    const World world(World::Feeds::kProduct);
    world.settle();
    CHECK(world.body("wc/calendar") == R"({"event":"wc","fixtures":[]})");
    CHECK(world.body("wc/scorers") == R"({"scorers":[]})");
    CHECK(world.body("wc/standings") == R"({"groups":[]})");
    CHECK(world.value("SELECT count(*) FROM feed_document") == "3");
    CHECK(world.dirty().empty());
}

TEST_CASE("build.calendar: every fixture with its state and no score before the start") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    auto planned = game("Kenya", "Türkiye", 0, 0);
    planned.state = "NS";
    planned.kickoff = "2026-06-12T21:30:00+02:00";
    tournament.play(1002, planned);
    auto final = game("O'Higgins \"B\"", "日本", 3, 3);
    final.state = "FT_PEN";
    final.group = "";
    final.round = "Final";
    final.home_shootout = 4;
    final.away_shootout = 2;
    tournament.play(1001, final);
    world.settle();
    CHECK(world.body("wc/calendar") ==
          R"({"event":"wc","fixtures":[)"
          R"({"id":1001,"kickoff":"2026-06-11T19:00:00Z","state":"FT_PEN","group":null,"round":"Final",)"
          R"("home":{"name":"O'Higgins \"B\""},"away":{"name":"日本"},"score":{"home":3,"away":3},)"
          R"("shootout":{"home":4,"away":2}},)"
          R"({"id":1002,"kickoff":"2026-06-12T19:30:00Z","state":"NS","group":"Group A","round":"Matchday 1",)"
          R"("home":{"name":"Kenya"},"away":{"name":"Türkiye"},"score":null,"shootout":null}]})");
}

TEST_CASE("build.calendar: a fixture that the provider deleted is gone and one that is awarded has its score") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    auto awarded = game("A", "B", 3, 0);
    awarded.state = "AWARDED";
    tournament.play(1, awarded);
    tournament.play(2, game("C", "D", 1, 0));
    world.settle();
    auto deleted = game("C", "D", 1, 0);
    deleted.state = "DELETED";
    tournament.play(2, deleted);
    world.settle();
    CHECK(world.value("SELECT string_agg(f ->> 'score', ' ') FROM json_array_elements('" + world.body("wc/calendar") +
                      "'::json -> 'fixtures') f") == R"({"home":3,"away":0})");
    CHECK(world.value("SELECT retired_at IS NOT NULL FROM feed_document WHERE doc_key = 'wc/timeline/2'") == "t");
}

TEST_CASE("B33: a postponed fixture keeps its id and moves in the calendar") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    auto fixture = game("A", "B", -1, -1);
    fixture.state = "NS";
    tournament.play(7, fixture);
    world.settle();
    fixture.state = "POSTPONED";
    fixture.kickoff = "2026-07-23T19:00:00Z";
    tournament.play(7, fixture);
    world.settle();
    CHECK(world.value("SELECT string_agg((f ->> 'id') || ' ' || (f ->> 'kickoff') || ' ' || (f ->> 'state'), ';') FROM"
                      " json_array_elements('" +
                      world.body("wc/calendar") + "'::json -> 'fixtures') f") == "7 2026-07-23T19:00:00Z POSTPONED");
    CHECK(world.versions("wc/calendar") >= 2);
}

TEST_CASE("build.timeline: one for every fixture that has started and goalless ones too") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    auto fixture = game("A", "B", -1, -1);
    fixture.state = "NS";
    tournament.play(5, fixture);
    world.settle();
    CHECK(world.body("wc/timeline/5").empty());
    fixture.state = "INPLAY_1ST_HALF";
    fixture.home_score = fixture.away_score = 0;
    tournament.play(5, fixture);
    world.settle();
    CHECK(
        world.body("wc/timeline/5") ==
        R"({"fixture":{"id":5,"kickoff":"2026-06-11T19:00:00Z","state":"INPLAY_1ST_HALF","group":"Group A",)"
        R"("round":"Matchday 1","home":{"name":"A"},"away":{"name":"B"},"score":{"home":0,"away":0},"shootout":null},)"
        R"("is_score_explained":null,"events":[]})");
}

TEST_CASE("build.timeline: newest first and 45+5 above 45 and unknown minutes last") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    tournament.play(5, game("A", "B", 1, 1));
    tournament.happen({.fixture = 5, .id = 11, .player = "p1", .minute = "45", .extra_minute = "5", .assist = "p2"});
    tournament.happen(
        {.fixture = 5, .id = 12, .type_id = 19, .type = "yellow_card", .side = "away", .player = "q1", .minute = "45"});
    tournament.happen({.fixture = 5,
                       .id = 13,
                       .type_id = 15,
                       .type = "own_goal",
                       .side = "away",
                       .player = "p1",
                       .minute = "90",
                       .player_team = "A"});
    tournament.happen({.fixture = 5, .id = 14, .type_id = 10, .type = "var"});
    tournament.happen({.fixture = 5,
                       .id = 15,
                       .type_id = 18,
                       .type = "substitution",
                       .side = "away",
                       .player = "q2",
                       .minute = "45"});
    world.settle();
    const auto body = world.body("wc/timeline/5");
    CHECK(body.substr(body.find("\"events\"")) ==
          R"("events":[{"type":"own_goal","minute":90,"extra_minute":null,"team":"B","player":"p1","assist":null},)"
          R"({"type":"goal","minute":45,"extra_minute":5,"team":"A","player":"p1","assist":"p2"},)"
          R"({"type":"substitution","minute":45,"extra_minute":null,"team":"B","player":"q2","assist":null},)"
          R"({"type":"yellow_card","minute":45,"extra_minute":null,"team":"B","player":"q1","assist":null},)"
          R"({"type":"var","minute":null,"extra_minute":null,"team":"A","player":null,"assist":null}]})");
}

TEST_CASE("build.timeline: it is not built again for another fixture's goal") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    tournament.play(5, game("A", "B", 0, 0));
    tournament.play(6, game("C", "D", 1, 0));
    world.settle();
    tournament.happen({.fixture = 6, .id = 1, .player = "p1"});
    world.read_outbox();
    CHECK(!contains(world.dirty(), "wc/timeline/5"));
    CHECK(contains(world.dirty(), "wc/timeline/6"));
    CHECK(contains(world.dirty(), "wc/scorers"));
}

TEST_CASE("build.scorers: penalties count and own goals and shoot-out kicks do not") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    tournament.play(5, game("A", "B", 4, 2));
    int id = 0;
    const auto goal = [&](const std::string& side, const std::string& player, int type_id = 14) {
        tournament.happen({.fixture = 5, .id = ++id, .type_id = type_id, .type = "x", .side = side, .player = player});
    };
    goal("home", "Zoë");
    goal("home", "Zoë", 16);
    goal("home", "Ana");
    goal("home", "Ana");
    goal("away", "Bo", 16);
    goal("away", "Ana", 16);  // Another Ana: teams tell them apart.
    goal("home", "Own", 15);
    goal("home", "Kick", 23);
    goal("home", "Miss", 17);
    world.settle();
    CHECK(
        world.body("wc/scorers") ==
        R"({"scorers":[{"player":"Ana","team":"A","goals":2,"penalties":0},{"player":"Zoë","team":"A","goals":2,"penalties":1},)"
        R"({"player":"Ana","team":"B","goals":1,"penalties":1},{"player":"Bo","team":"B","goals":1,"penalties":1}]})");
}

TEST_CASE("build.standings: every team of a group from the start and only group matches with a result") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    auto planned = game("A", "B", 0, 0);
    planned.state = "NS";
    tournament.play(1, planned);
    world.settle();
    CHECK(world.body("wc/standings") ==
          R"({"groups":[{"name":"Group A","rows":[{"team":"A","played":0,"won":0,"drawn":0,"lost":0,"goals_for":0,)"
          R"("goals_against":0,"points":0},{"team":"B","played":0,"won":0,"drawn":0,"lost":0,"goals_for":0,)"
          R"("goals_against":0,"points":0}]}]})");
    auto live = game("A", "B", 0, 1);
    live.state = "INPLAY_2ND_HALF";
    tournament.play(1, live);
    auto knockout = game("A", "B", 5, 0);
    knockout.group = "";
    tournament.play(2, knockout);
    world.settle();
    CHECK(first_table(world) == "A 0, B 0");
    tournament.play(1, game("A", "B", 0, 2));
    auto other = game("C", "D", 1, 1);
    other.group = "Group B";
    tournament.play(3, other);
    world.settle();
    CHECK(
        world.body("wc/standings") ==
        R"({"groups":[{"name":"Group A","rows":[{"team":"B","played":1,"won":1,"drawn":0,"lost":0,"goals_for":2,)"
        R"("goals_against":0,"points":3},{"team":"A","played":1,"won":0,"drawn":0,"lost":1,"goals_for":0,)"
        R"("goals_against":2,"points":0}]},{"name":"Group B","rows":[{"team":"C","played":1,"won":0,"drawn":1,"lost":0,)"
        R"("goals_for":1,"goals_against":1,"points":1},{"team":"D","played":1,"won":0,"drawn":1,"lost":0,)"
        R"("goals_for":1,"goals_against":1,"points":1}]}]})");
}

TEST_CASE("build.standings: the tie-break is data") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    // B beat A and C beat B and A beat C; A has the best difference, C scored most.
    tournament.play(1, game("B", "A", 1, 0));
    tournament.play(2, game("A", "C", 4, 1));
    tournament.play(3, game("C", "B", 5, 4));
    tournament.play(4, game("D", "A", 0, 0));
    tournament.play(5, game("D", "B", 2, 2));
    tournament.play(6, game("D", "C", 0, 0));
    world.settle();
    CHECK(first_table(world) == "A 4, B 4, C 4, D 3");
    order_by(world, "points,goal_difference,goals_for,team");
    CHECK(first_table(world) == "A 4, B 4, C 4, D 3");
    order_by(world, "points,goals_for,team");
    CHECK(first_table(world) == "B 4, C 4, A 4, D 3");
    order_by(world, "points,team,goals_for");
    CHECK(first_table(world) == "A 4, B 4, C 4, D 3");
    order_by(world, "wins,points,goals_for");
    CHECK(first_table(world) == "B 4, C 4, A 4, D 3");
    CHECK_THROWS(world.exec("UPDATE event SET tie_break = '{points,coin}'"));
}

TEST_CASE("build.standings: head to head counts the matches among those who are equal so far") {
    const World world(World::Feeds::kProduct);
    const Tournament tournament(world);
    // X and Y have six points each; X has by far the better difference, but Y beat X.
    tournament.play(1, game("Y", "X", 1, 0));
    tournament.play(2, game("X", "Z", 9, 0));
    tournament.play(3, game("X", "W", 5, 0));
    tournament.play(4, game("Y", "W", 1, 0));
    tournament.play(5, game("Z", "Y", 1, 0));
    tournament.play(6, game("Z", "W", 1, 1));
    world.settle();
    order_by(world, "points,goal_difference,team");
    CHECK(first_table(world) == "X 6, Y 6, Z 4, W 1");
    order_by(world, "points,head_to_head,goal_difference,team");
    CHECK(first_table(world) == "Y 6, X 6, Z 4, W 1");
    // Three are equal on points and each beat one of the others: goals in these matches are X 9:1, Y 1:1, Z 1:9.
    tournament.play(6, game("Z", "W", 3, 0));
    order_by(world, "points,head_to_head,team");
    CHECK(first_table(world) == "X 6, Y 6, Z 6, W 0");
    // Y falls behind, and with it its matches: X beat Z.
    tournament.play(4, game("Y", "W", 1, 1));
    order_by(world, "points,head_to_head,team");
    CHECK(first_table(world) == "X 6, Z 6, Y 4, W 1");
}

TEST_CASE("build.feeds: the same tournament stored in another order gives the same content") {
    std::vector<std::string> hashes;
    for (const bool backwards : {false, true}) {
        const World world(World::Feeds::kProduct);
        const Tournament tournament(world);
        const auto part = [&](int n) {
            tournament.play(100 + n, game(n % 2 == 0 ? "A" : "C", n % 2 == 0 ? "B" : "D", 2, 1));
            for (int goal = 0; goal < 3; ++goal) {
                const int place = backwards ? 2 - goal : goal;
                tournament.happen({.fixture = 100 + n,
                                   .id = 10 * n + place,
                                   .side = place == 2 ? "away" : "home",
                                   .player = place == 0 ? "p" : "q",
                                   .minute = "10"});
            }
        };
        for (int n = 0; n < 4; ++n) part(backwards ? 3 - n : n);
        world.settle();
        CHECK(world.value("SELECT count(*) FROM feed_document") == "7");
        hashes.push_back(
            world.value("SELECT string_agg(doc_key || encode(content_hash, 'hex'), ' ' ORDER BY doc_key)"
                        " FROM feed_document"));
    }
    CHECK(hashes[0] == hashes[1]);
}

TEST_CASE("build.docs: the feed of one's own in the documentation is built and passes the check") {
    const auto page = read_file(source_dir() / "docs" / "feeds.md");
    const auto begin = page.find("INSERT INTO feed_definition");
    REQUIRE(begin != std::string::npos);
    const World world;
    const Tournament tournament(world);
    tournament.play(1, game("Kenya", "Peru", 1, 0));
    tournament.play(2, game("Peru", "Chad", 1, 0));
    world.exec(page.substr(begin, page.find("```", begin) - begin));
    world.exec("UPDATE feed_definition SET quiet_ms = 0, quiet_ms_max = 0");
    world.settle();
    CHECK(world.value("SELECT string_agg(doc_key, ' ' ORDER BY doc_key) FROM feed_document") ==
          "wc/team/kenya wc/team/peru");
    CHECK(world.value("SELECT json_array_length('" + world.body("wc/team/peru") + "'::json)") == "2");
    auto session = world.session();
    const auto report = build::check_definition(session, *world.resolvers(),
                                                {"team",
                                                 "sql",
                                                 world.value("SELECT body_sql FROM feed_definition"),
                                                 world.value("SELECT keys_sql FROM feed_definition"),
                                                 "application/json",
                                                 {},
                                                 true},
                                                "wc");
    CHECK(report.filters == std::vector<std::string>{"kenya", "peru"});
}
