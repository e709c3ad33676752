#include <doctest/doctest.h>

#include <string>

#include "capture/json_text.hpp"

using namespace ftlfeed::capture;

TEST_CASE("capture.bytes: each event of each fixture is found with brackets and quotes inside its texts") {
    const std::string text =
        R"({"a":"]}","data" : [ {"x":{"events":[9]},"events":[ {"n":"a\"b]"} ,{"n":"\\"},[1,[2]] ]}, {"id":2}, 7 ],"z":1})";
    const auto fixtures = slice_answer(text);
    REQUIRE(fixtures.size() == 3);
    REQUIRE(fixtures[0].events.size() == 3);
    CHECK(fixtures[0].events[0] == R"({"n":"a\"b]"})");
    CHECK(fixtures[0].events[1] == R"({"n":"\\"})");
    CHECK(fixtures[0].events[2] == "[1,[2]]");
    CHECK(fixtures[1].fixture == R"({"id":2})");
    CHECK(fixtures[1].events.empty());
    CHECK(fixtures[2].fixture == "7");
}

TEST_CASE("capture.bytes: a single fixture and empty lists are found") {
    CHECK(slice_answer(R"({"data":{"id":1,"events":[]}})").at(0).events.empty());
    CHECK(slice_answer(R"({"data":[]})").empty());
    CHECK(slice_answer(R"({"message":"x"})").empty());
    CHECK(slice_answer("{}").empty());
}

TEST_CASE("capture.bytes: any cut text ends the walk without reading behind its end") {
    const std::string text = R"({"data":[{"id":"a\"","events":[{"a":[{}]},"x\\",3]}],"b":null})";
    for (std::size_t length = 0; length <= text.size(); ++length) {
        const auto cut = text.substr(0, length);
        for (const auto& fixture : slice_answer(cut)) CHECK(fixture.fixture.size() <= cut.size());
    }
}
