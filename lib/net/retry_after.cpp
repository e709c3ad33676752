#include <ftlfeed/net/http_post.hpp>

#include <algorithm>
#include <array>
#include <charconv>

namespace ftlfeed::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLeast{1};
constexpr std::chrono::hours kMost{24};

std::optional<std::int64_t> number(std::string_view digits) {
    std::int64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos || stop != end) {
        return std::nullopt;
    }
    if (error != std::errc()) return std::nullopt;
    return value;
}

/// The words of a date, whatever stands between them.
std::vector<std::string_view> words_of(std::string_view text) {
    constexpr std::string_view kBetween = " ,-";
    std::vector<std::string_view> words;
    for (auto begin = text.find_first_not_of(kBetween); begin != std::string_view::npos;) {
        const auto end = std::min(text.find_first_of(kBetween, begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = text.find_first_not_of(kBetween, end);
    }
    return words;
}

std::optional<unsigned> month_of(std::string_view name) {
    static constexpr std::array<std::string_view, 12> kNames{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                             "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto* found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<unsigned>(found - kNames.begin()) + 1;
}

/// `08:49:37`
std::optional<seconds> time_of_day(std::string_view text) {
    if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
    const auto hour = number(text.substr(0, 2));
    const auto minute = number(text.substr(3, 2));
    const auto second = number(text.substr(6, 2));
    if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + seconds(*second);
}

/// One of the three forms of RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
/// `Sun Nov  6 08:49:37 1994`.
std::optional<std::chrono::sys_seconds> http_date(std::string_view text, core::SystemTime now) {
    using namespace std::chrono;
    const auto words = words_of(text);
    const bool is_asctime = words.size() == 5;
    if (!is_asctime && (words.size() != 6 || words[5] != "GMT")) return std::nullopt;
    const auto month_number = month_of(words[is_asctime ? 1 : 2]);
    const auto day_number = number(words[is_asctime ? 2 : 1]);
    auto year_number = number(words[is_asctime ? 4 : 3]);
    const auto time = time_of_day(words[is_asctime ? 3 : 4]);
    if (!month_number || !day_number || !year_number || !time || *day_number > 31 || *year_number > 9999) {
        return std::nullopt;
    }
    if (*year_number < 100) {
        // Two digits: the year that is at most 50 years ahead.
        const auto this_year = static_cast<int>(year_month_day(floor<days>(now)).year());
        *year_number += this_year / 100 * 100;
        if (*year_number > this_year + 50) *year_number -= 100;
    }
    const year_month_day date{year(static_cast<int>(*year_number)), month(*month_number),
                              day(static_cast<unsigned>(*day_number))};
    if (!date.ok()) return std::nullopt;
    return sys_days(date) + *time;
}

}  // namespace

std::optional<milliseconds> retry_after(const HttpResponse& response, core::SystemTime now) {
    const auto wish = response.headers.find("retry-after");
    if (wish == response.headers.end()) return std::nullopt;
    const milliseconds least = kLeast;
    const milliseconds most = kMost;
    if (const auto count = number(wish->second)) {
        return std::clamp(milliseconds(seconds(std::min<std::int64_t>(*count, seconds(kMost).count()))), least, most);
    }
    const auto until = http_date(wish->second, now);
    if (!until) return std::nullopt;
    // By the answer's own clock: ours, or theirs, may be wrong.
    const auto date = response.headers.find("date");
    const auto said = date == response.headers.end() ? std::nullopt : http_date(date->second, now);
    // In seconds: the year 9999 is beyond what the clock's nanoseconds hold.
    const auto begin = said.value_or(std::chrono::floor<seconds>(now));
    return std::clamp<milliseconds>(*until - begin, least, most);
}

}  // namespace ftlfeed::net
