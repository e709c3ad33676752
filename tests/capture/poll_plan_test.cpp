#include <doctest/doctest.h>

#include "capture/poll_plan.hpp"

using namespace ftlfeed::capture;
using std::chrono::days;
using std::chrono::sys_seconds;

namespace {

constexpr sys_seconds kNow{std::chrono::seconds(1'781'204'400)};

StoredFixture stored(bool is_over, bool has_started, std::optional<sys_seconds> kickoff) {
    return {1, is_over, has_started, kickoff};
}

}  // namespace

TEST_CASE("capture.plan: a fixture that left the list is read by id until it is over") {
    PollView view;
    view.stored[1] = stored(false, true, kNow);
    CHECK(fixtures_to_read(view) == std::vector<std::int64_t>{1});
    view.stored[1].is_over = true;
    CHECK(fixtures_to_read(view).empty());
}

TEST_CASE("capture.plan: what is in the list or was read in this poll is not read by id") {
    PollView view;
    view.stored[1] = stored(false, true, kNow);
    view.in_list = {1};
    CHECK(fixtures_to_read(view).empty());
    view.in_list.clear();
    view.confirmed = {1};
    CHECK(fixtures_to_read(view).empty());
}

TEST_CASE("capture.plan: a fixture that was listed and vanished before its start is read by id") {
    PollView view;
    view.stored[1] = stored(false, false, kNow + std::chrono::minutes(10));
    CHECK(fixtures_to_read(view).empty());
    view.listed = {1};
    CHECK(fixtures_to_read(view) == std::vector<std::int64_t>{1});
}

TEST_CASE("capture.plan: when there is reason to look all that should have begun by the provider's time is read") {
    PollView view;
    view.stored[1] = stored(false, false, kNow);
    view.stored[2] = stored(false, false, kNow + std::chrono::seconds(1));
    view.stored[3] = stored(false, false, std::nullopt);
    view.stored[4] = stored(true, true, kNow - std::chrono::hours(3));
    view.provider_time = kNow;
    CHECK(fixtures_to_read(view).empty());
    view.must_look = true;
    CHECK(fixtures_to_read(view) == std::vector<std::int64_t>{1});
    // In the list, but its commit failed: it is read as well.
    view.in_list = {1};
    CHECK(fixtures_to_read(view) == std::vector<std::int64_t>{1});
    view.provider_time.reset();
    CHECK(fixtures_to_read(view).empty());
}

TEST_CASE("capture.plan: the season's windows cover every day once and none spans more than 90") {
    const auto windows = season_windows(kNow, days(45), days(120));
    const auto today = std::chrono::floor<days>(kNow);
    REQUIRE(windows.size() == 2);
    CHECK(windows.front().first == today - days(45));
    CHECK(windows.back().second == today + days(120));
    for (const auto& [first, last] : windows) CHECK(last - first < days(90));
    CHECK(windows[1].first == windows[0].second + days(1));
    CHECK(season_windows(kNow, days(0), days(0)).size() == 1);
}
