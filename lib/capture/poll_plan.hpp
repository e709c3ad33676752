#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace ftlfeed::capture {

/// A stored fixture, as the one SELECT of a poll shows it.
struct StoredFixture {
    std::int64_t row_version = 0;
    bool is_over = false;
    bool has_started = false;
    std::optional<std::chrono::sys_seconds> kickoff;
    bool has_open_questions = false;
};

/// What the choice below looks at.
struct PollView {
    std::map<std::int64_t, StoredFixture> stored;
    std::set<std::int64_t> in_list;    ///< In the present in-play answer.
    std::set<std::int64_t> confirmed;  ///< Stored, or known to be unchanged, in this poll.
    std::set<std::int64_t> listed;     ///< Were in an in-play list before.
    std::optional<std::chrono::sys_seconds> provider_time;
    bool must_look = false;  ///< At start and after a failed commit.
};

/// Which fixtures are read by id: those with open questions, those that are not over and left the list, and, when there
/// is reason to look, all that should have begun by the provider's time and were not confirmed in this poll. Pure.
[[nodiscard]] std::vector<std::int64_t> fixtures_to_read(const PollView& view);

/// Days around the provider's time, cut into windows that one request may span. Pure.
using DayWindow = std::pair<std::chrono::sys_days, std::chrono::sys_days>;
[[nodiscard]] std::vector<DayWindow> season_windows(std::chrono::sys_seconds provider_time, std::chrono::days back,
                                                    std::chrono::days ahead);

}  // namespace ftlfeed::capture
