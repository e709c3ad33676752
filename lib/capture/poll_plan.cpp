#include "capture/poll_plan.hpp"

#include <algorithm>

namespace ftlfeed::capture {
namespace {

constexpr std::chrono::days kWindowMax{90};  // The provider takes no more than 100 days in one request.

}  // namespace

std::vector<std::int64_t> fixtures_to_read(const PollView& view) {
    std::vector<std::int64_t> ids;
    for (const auto& [id, fixture] : view.stored) {
        if (fixture.has_open_questions) {
            ids.push_back(id);
            continue;
        }
        if (fixture.is_over || view.confirmed.contains(id)) continue;
        const bool has_left = !view.in_list.contains(id) && (fixture.has_started || view.listed.contains(id));
        const bool should_have_begun =
            fixture.has_started || (view.provider_time && fixture.kickoff && *fixture.kickoff <= *view.provider_time);
        if (has_left || (view.must_look && should_have_begun)) ids.push_back(id);
    }
    return ids;
}

std::vector<DayWindow> season_windows(std::chrono::sys_seconds provider_time, std::chrono::days back,
                                      std::chrono::days ahead) {
    const auto today = std::chrono::floor<std::chrono::days>(provider_time);
    std::vector<DayWindow> windows;
    const auto last = today + ahead;
    for (auto first = today - back; first <= last; first += kWindowMax) {
        windows.emplace_back(first, std::min(last, first + kWindowMax - std::chrono::days(1)));
    }
    return windows;
}

}  // namespace ftlfeed::capture
