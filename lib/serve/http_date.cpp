#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include <ftlfeed/serve/conditional.hpp>

#include "serve/header_text.hpp"

namespace ftlfeed::serve {
namespace {

constexpr std::array<std::string_view, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
/// Two digits of a year mean the past unless that is more than fifty years ago (RFC 9110, 5.6.7); fixed here, since such
/// dates come from the last century.
constexpr int kCenturyPivot = 70;

/// Reads a fixed form from the left. Once it fails it stays failed.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    int number(std::size_t digits) noexcept {
        int value = 0;
        const auto part = rest_.substr(0, digits);
        const bool is_number = part.size() == digits && part.find_first_not_of("0123456789") == std::string_view::npos;
        if (!is_number) return fail();
        std::from_chars(part.data(), part.data() + digits, value);
        rest_.remove_prefix(digits);
        return value;
    }
    void text(std::string_view expected) noexcept {
        if (!rest_.starts_with(expected)) {
            fail();
            return;
        }
        rest_.remove_prefix(expected.size());
    }
    /// 1 to 12.
    unsigned month() noexcept {
        const auto found = std::find(kMonths.begin(), kMonths.end(), rest_.substr(0, 3));
        if (found == kMonths.end()) return static_cast<unsigned>(fail());
        rest_.remove_prefix(3);
        return static_cast<unsigned>(found - kMonths.begin()) + 1;
    }
    [[nodiscard]] bool is_done() const noexcept { return is_right_ && rest_.empty(); }

private:
    int fail() noexcept {
        is_right_ = false;
        rest_ = {};
        return 0;
    }
    std::string_view rest_;
    bool is_right_ = true;
};

struct Fields {
    int year = 0;
    unsigned month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
};

void read_time(Reader& reader, Fields& fields) noexcept {
    fields.hour = reader.number(2);
    reader.text(":");
    fields.minute = reader.number(2);
    reader.text(":");
    fields.second = reader.number(2);
}

/// `06 Nov 1994 08:49:37 GMT`, or `06-Nov-94 08:49:37 GMT` where a year has two digits.
bool read_day_first(std::string_view text, std::string_view between, std::size_t year_digits, Fields& fields) noexcept {
    Reader reader(text);
    fields.day = reader.number(2);
    reader.text(between);
    fields.month = reader.month();
    reader.text(between);
    fields.year = reader.number(year_digits);
    if (year_digits == 2) fields.year += fields.year < kCenturyPivot ? 2000 : 1900;
    reader.text(" ");
    read_time(reader, fields);
    reader.text(" GMT");
    return reader.is_done();
}

/// `Nov  6 08:49:37 1994`
bool read_asctime(std::string_view text, Fields& fields) noexcept {
    Reader reader(text);
    fields.month = reader.month();
    reader.text(" ");
    const bool is_short = text.size() > 4 && text[4] == ' ';
    if (is_short) reader.text(" ");
    fields.day = reader.number(is_short ? 1 : 2);
    reader.text(" ");
    read_time(reader, fields);
    reader.text(" ");
    fields.year = reader.number(4);
    return reader.is_done();
}

std::optional<std::time_t> time_of(const Fields& fields) noexcept {
    using namespace std::chrono;
    const year_month_day date{year(fields.year), month(fields.month), day(static_cast<unsigned>(fields.day))};
    // 60 is a leap second.
    if (!date.ok() || fields.hour > 23 || fields.minute > 59 || fields.second > 60) return std::nullopt;
    const auto at = sys_days(date) + hours(fields.hour) + minutes(fields.minute) + seconds(fields.second);
    return static_cast<std::time_t>(duration_cast<seconds>(at.time_since_epoch()).count());
}

}  // namespace

std::string http_date(std::time_t time) {
    std::tm utc{};
    gmtime_r(&time, &utc);
    return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays.at(static_cast<std::size_t>(utc.tm_wday)),
                       utc.tm_mday, kMonths.at(static_cast<std::size_t>(utc.tm_mon)), utc.tm_year + 1900, utc.tm_hour,
                       utc.tm_min, utc.tm_sec);
}

std::optional<std::time_t> parse_http_date(std::string_view text) noexcept {
    text = trimmed(text);
    Fields fields;
    // The name of the day says nothing that the date does not.
    if (const auto comma = text.find(", "); comma != std::string_view::npos) {
        const auto rest = text.substr(comma + 2);
        if (read_day_first(rest, " ", 4, fields) || read_day_first(rest, "-", 2, fields)) return time_of(fields);
        return std::nullopt;
    }
    const auto space = text.find(' ');
    if (space == std::string_view::npos || !read_asctime(text.substr(space + 1), fields)) return std::nullopt;
    return time_of(fields);
}

}  // namespace ftlfeed::serve
