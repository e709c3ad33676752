#include "includes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

using namespace ftlfeed::sim;

namespace {

Includes included(const std::string& text) {
    auto parsed = parse_includes(text, {});
    REQUIRE(std::holds_alternative<Includes>(parsed));
    return std::get<Includes>(parsed);
}

int code_of(const std::string& text, const std::set<std::string, std::less<>>& plan_lacks = {}) {
    const auto parsed = parse_includes(text, plan_lacks);
    const auto* error = std::get_if<ApiError>(&parsed);
    return error ? static_cast<int>(error->code) : 0;
}

}  // namespace

TEST_CASE("sim.includes: a nested include brings its parent along and nothing else") {
    const auto includes = included("events.type;scores");
    CHECK(includes.has("events"));
    CHECK(includes.has("events.type"));
    CHECK(includes.has("scores"));
    CHECK_FALSE(includes.has("events.subtype"));
    CHECK_FALSE(includes.has("participants"));
}

TEST_CASE("sim.includes: names are camel case or lower case") {
    CHECK(included("events.relatedPlayer").has("events.relatedplayer"));
    CHECK(included("events.relatedplayer").has("events.relatedplayer"));
}

TEST_CASE("sim.includes: each refusal has its code") {
    const std::vector<std::pair<std::string, int>> table{
        {"participants", 0},
        {"", 0},
        {";;state;", 0},
        {"participants.events", 5000},
        {"state.type", 5000},
        {"goalkeepers", 5001},
        {"events.goalkeeper", 5001},
        {"a.b.c.d", 5008},
        {"events.type.type.x", 5008},
        {"lineups", 5013},
        {"lineups.details.type", 5013},
        {"scores.type", 5013},
        {"events:minute", 5006},
    };
    for (const auto& [text, code] : table) {
        CAPTURE(text);
        CHECK(code_of(text) == code);
    }
    CHECK(code_of("periods", {"periods"}) == 5002);
}

TEST_CASE("sim.includes: more than thirty are too complex") {
    std::string text = "state";
    for (int n = 1; n < 30; ++n) text += ";state";
    CHECK(code_of(text) == 0);
    CHECK(code_of(text + ";state") == 5004);
}
