#include <ftlfeed/deliver/send_decision.hpp>

#include <doctest/doctest.h>

#include <ftlfeed/deliver/send_deadline.hpp>

using namespace ftlfeed;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;

namespace {

const core::SystemTime kNow = core::SystemTime{} + 500'000h;
const Place kPlace{"directory|||/srv/client", "e/calendar.json"};

DocumentFacts document(core::Version version, std::string hash, std::chrono::seconds age = 5s) {
    return {version, std::move(hash), kNow - age, false};
}

SendStep step(const DocumentFacts& facts, const ProvenFacts& proven, OnRetire on_retire = OnRetire::kKeep) {
    return next_step(facts, proven, kPlace, on_retire, kNow);
}

}  // namespace

TEST_CASE("deliver.decision: any part of the version that is newer is owed") {
    CHECK(step(document({1, 5, 1}, "b"), {{1, 4, 1}, "a", kPlace}) == SendStep::kSend);
    CHECK(step(document({2, 5, 1}, "b"), {{1, 9, 1}, "a", kPlace}) == SendStep::kSend);
    CHECK(step(document({1, 5, 2}, "b"), {{1, 5, 1}, "a", kPlace}) == SendStep::kSend);
    CHECK(step(document({1, 5, 1}, "b"), {{1, 5, 1}, "a", kPlace}) == SendStep::kNothing);
    CHECK(step(document({1, 5, 1}, "b"), {{1, 5, 2}, "a", kPlace}) == SendStep::kNothing);
    CHECK(step(document({1, 5, 1}, "b"), {{}, "", {}}) == SendStep::kSend);
}

TEST_CASE("deliver.decision: a newer version with the bytes that were sent is delivered-equal without a send") {
    CHECK(step(document({1, 6, 1}, "a"), {{1, 4, 1}, "a", kPlace}) == SendStep::kEqual);
    CHECK(step(document({1, 6, 1}, "a"), {{1, 4, 1}, "", kPlace}) == SendStep::kSend);
}

TEST_CASE("deliver.decision: equal bytes at another place are sent") {
    auto other = kPlace;
    other.path = "e/cal.json";
    CHECK(step(document({1, 4, 2}, "a"), {{1, 4, 1}, "a", other}) == SendStep::kSend);
    other = kPlace;
    other.target = "directory|||/srv/other";
    CHECK(step(document({1, 4, 2}, "a"), {{1, 4, 1}, "a", other}) == SendStep::kSend);
}

TEST_CASE("deliver.decision: after an epoch move equal bytes go again only when the file changed in the hour before") {
    CHECK(step(document({2, 4, 1}, "a", 3601s), {{1, 4, 1}, "a", kPlace}) == SendStep::kMoveOn);
    CHECK(step(document({2, 4, 1}, "a", 3600s), {{1, 4, 1}, "a", kPlace}) == SendStep::kMoveOn);
    CHECK(step(document({2, 4, 1}, "a", 3599s), {{1, 4, 1}, "a", kPlace}) == SendStep::kSend);
    CHECK(step(document({2, 4, 1}, "b", 9999s), {{1, 4, 1}, "a", kPlace}) == SendStep::kSend);
}

TEST_CASE("deliver.decision: a retired file is deleted or kept as set and only where it lies") {
    auto retired = document({1, 9, 1}, "z");
    retired.is_retired = true;
    CHECK(step(retired, {{1, 4, 1}, "a", kPlace}, OnRetire::kKeep) == SendStep::kKeep);
    CHECK(step(retired, {{1, 4, 1}, "a", kPlace}, OnRetire::kDelete) == SendStep::kDelete);
    CHECK(step(retired, {{}, "", {}}, OnRetire::kDelete) == SendStep::kKeep);
    CHECK(step(retired, {{1, 4, 1}, "a", {"directory|||/gone", "x"}}, OnRetire::kDelete) == SendStep::kKeep);
    CHECK(step(retired, {{1, 9, 1}, "a", kPlace}, OnRetire::kDelete) == SendStep::kNothing);
}

TEST_CASE("deliver.deadline: a send ends at its own limits or before the lease whichever is first") {
    const core::SteadyTime started = core::SteadyTime{} + 100h;
    const SendLimits limits{10s, 60s, 120s, 0};
    CHECK(send_deadline(limits, started, started + 15s, 500ms).at() == started + 14500ms);
    CHECK(send_deadline(limits, started, started + 1h, 500ms).at() == started + 190s);
    // It moves on with each renewal, up to the limits.
    CHECK(send_deadline(limits, started, started + 20s, 500ms).at() >
          send_deadline(limits, started, started + 15s, 500ms).at());
    CHECK(send_deadline(limits, started, {}, 500ms).is_over(started));
}

TEST_CASE("deliver.deadline: a new owner looks again after the greater of the limits and the TTL") {
    const core::SteadyTime alive = core::SteadyTime{} + 100h;
    CHECK(look_again_at({1s, 1s, 1s, 0}, alive, 5s) == alive + 5s);
    CHECK(look_again_at({10s, 60s, 120s, 0}, alive, 5s) == alive + 190s);
}
