#include "tournament.hpp"

#include <charconv>
#include <string_view>

namespace ftlfeed::sim {
namespace {

/// Reads a whole number from the front of `text` and removes it. Throws DataError when there is none.
int take_number(std::string_view& text, const std::string& whole) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end == text.data()) throw DataError("'" + whole + "' has no number where one belongs");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool take(std::string_view& text, char expected) {
    if (text.empty() || text.front() != expected) return false;
    text.remove_prefix(1);
    return true;
}

/// "UTC", "UTC-6" or "UTC+5:30": how far the local clock is ahead.
std::chrono::minutes parse_offset(std::string_view zone, const std::string& whole) {
    if (!zone.starts_with("UTC")) throw DataError("'" + whole + "': a zone is written UTC, UTC-6 or UTC+5:30");
    zone.remove_prefix(3);
    if (zone.empty()) return std::chrono::minutes{0};
    const bool behind = take(zone, '-');
    if (!behind && !take(zone, '+')) throw DataError("'" + whole + "': a zone is written UTC, UTC-6 or UTC+5:30");
    const int hours = take_number(zone, whole);
    const int minutes = take(zone, ':') ? take_number(zone, whole) : 0;
    if (!zone.empty() || hours < 0 || hours > 14 || minutes < 0 || minutes > 59) {
        throw DataError("'" + whole + "' names no zone");
    }
    const std::chrono::minutes ahead{hours * 60 + minutes};
    return behind ? -ahead : ahead;
}

}  // namespace

Goals Match::first_half_goals() const {
    Goals goals;
    for (const auto& event : events) {
        if (half_of(event.at) == 0) count_goal(goals, event);
    }
    return goals;
}

void count_goal(Goals& goals, const MatchEvent& event) {
    if (!is_goal(event.kind)) return;
    const bool own = event.kind == EventKind::kOwnGoal;
    ++goals.of(own ? other(event.side) : event.side);
}

GameTime normalised(GameTime at, bool has_extra_time) {
    const int last = has_extra_time ? 120 : 90;
    if (at.minute > last) return {last, at.minute - last + at.added};
    return at;
}

GameTime parse_minute(const std::string& text) {
    std::string_view rest = text;
    GameTime at;
    at.minute = take_number(rest, text);
    if (take(rest, '+')) at.added = take_number(rest, text);
    if (!rest.empty() || at.minute < 0 || at.minute > 150 || at.added < 0 || at.added > 60) {
        throw DataError("'" + text + "' is no minute of a match");
    }
    return at;
}

std::chrono::sys_seconds parse_kickoff(const std::string& date, const std::string& time) {
    using namespace std::chrono;
    std::string_view rest = date;
    const int y = take_number(rest, date);
    const int m = take(rest, '-') ? take_number(rest, date) : 0;
    const int d = take(rest, '-') ? take_number(rest, date) : 0;
    const year_month_day day{year{y}, month{static_cast<unsigned>(m)}, std::chrono::day{static_cast<unsigned>(d)}};
    // The types of <chrono> keep a byte of each: ok() would take a month 257 for January.
    const bool is_in_range = m >= 1 && m <= 12 && d >= 1 && d <= 31;
    if (!rest.empty() || !is_in_range || !day.ok()) throw DataError("'" + date + "' is no date (YYYY-MM-DD)");
    if (time.empty()) return sys_days{day};

    rest = time;
    const int hour = take_number(rest, time);
    const int minute = take(rest, ':') ? take_number(rest, time) : -1;
    if (hour < 0 || hour > 24 || minute < 0 || minute > 59) throw DataError("'" + time + "' is no time (HH:MM)");
    while (take(rest, ' ')) {
    }
    const auto ahead = rest.empty() ? minutes{0} : parse_offset(rest, time);
    return sys_days{day} + hours{hour} + minutes{minute} - ahead;
}

}  // namespace ftlfeed::sim
