#include <doctest/doctest.h>

#include <ftlfeed/capture/vocabulary.hpp>

using namespace ftlfeed::capture;

TEST_CASE("B55: a state that nobody knows is kept raw and is not the end of a match") {
    const auto meaning = state_meaning(27, "SOMETHING_NEW");
    CHECK_FALSE(meaning.is_known);
    CHECK_FALSE(meaning.is_terminal);
    CHECK_FALSE(state_meaning(24, "").is_known);
}

TEST_CASE("capture.vocabulary: an unknown state id with a known developer name is that state") {
    CHECK(state_meaning(106, "AET").is_terminal);
}

TEST_CASE("B41: states 9 and 26 share the short name PEN and are told apart by id and developer name") {
    CHECK(state_meaning(9, "PEN").has_started);
    CHECK_FALSE(state_meaning(26, "PEN").has_started);
    CHECK_FALSE(state_meaning(999, "PEN").is_known);
}

TEST_CASE("capture.vocabulary: exactly the states that end a match are terminal") {
    for (const int id : {5, 7, 8, 12, 14, 15, 17, 20}) CHECK_MESSAGE(state_meaning(id, "").is_terminal, id);
    for (const int id : {1, 2, 3, 4, 6, 9, 10, 11, 13, 16, 18, 19, 21, 22, 23, 25, 26}) {
        CHECK_MESSAGE(state_meaning(id, "").is_known, id);
        CHECK_FALSE_MESSAGE(state_meaning(id, "").is_terminal, id);
    }
}

TEST_CASE("capture.vocabulary: event types have names and unknown ones keep their number") {
    CHECK(event_type_name(14) == "goal");
    CHECK(event_type_name(15) == "own_goal");
    CHECK(event_type_name(16) == "penalty");
    CHECK(event_type_name(23) == "shootout_goal");
    CHECK(event_type_name(48995) == "type_48995");
}

TEST_CASE("capture.vocabulary: full time before extra time does not close a match for bumps") {
    CHECK(is_open_for_bumps(false, 22, true, 5));  // The goal of the last minute comes with full time.
    CHECK_FALSE(is_open_for_bumps(true, 5, true, 5));
    CHECK(is_open_for_bumps(true, 5, false, 4));  // Full time, then the break: it was not over.
    CHECK(is_open_for_bumps(true, 5, true, 7));   // Full time, then nothing seen until after extra time.
    CHECK(is_open_for_bumps(true, 5, true, 8));
    CHECK_FALSE(is_open_for_bumps(true, 7, true, 7));
    CHECK_FALSE(is_open_for_bumps(true, 7, true, 17));
}
