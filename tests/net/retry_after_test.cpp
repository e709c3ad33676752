#include <doctest/doctest.h>

#include <optional>

#include <ftlfeed/net/http_post.hpp>

using namespace ftlfeed;
using namespace std::chrono;

namespace {

const core::SystemTime kNow = sys_days(year(2026) / 6 / 11) + hours(19);

std::optional<milliseconds> wish(const std::string& text, const std::string& date = "") {
    net::HttpResponse response;
    response.headers["retry-after"] = text;
    if (!date.empty()) response.headers["date"] = date;
    return net::retry_after(response, kNow);
}

}  // namespace

TEST_CASE("net.retry_after: seconds are taken between a second and a day") {
    CHECK(wish("120") == seconds(120));
    CHECK(wish("1") == seconds(1));
    CHECK(wish("0") == seconds(1));
    CHECK(wish("86400") == hours(24));
    CHECK(wish("86401") == hours(24));
    CHECK(wish("9223372036854775807") == hours(24));
}

TEST_CASE("net.retry_after: a date in each of the three forms is taken") {
    CHECK(wish("Thu, 11 Jun 2026 19:02:00 GMT") == seconds(120));
    CHECK(wish("Thursday, 11-Jun-26 19:02:00 GMT") == seconds(120));
    CHECK(wish("Thu Jun 11 19:02:00 2026") == seconds(120));
    CHECK(wish("Thu Jun  4 19:02:00 2026") == seconds(1));
    CHECK(wish("Sun, 06 Nov 1994 08:49:37 GMT") == seconds(1));
    CHECK(wish("Fri, 31 Dec 9999 23:59:59 GMT") == hours(24));
}

TEST_CASE("net.retry_after: a date is read by the clock of the answer where it has one") {
    CHECK(wish("Thu, 11 Jun 2026 12:01:00 GMT", "Thu, 11 Jun 2026 12:00:00 GMT") == seconds(60));
    CHECK(wish("Thu, 11 Jun 2026 19:02:00 GMT", "no date") == seconds(120));
}

TEST_CASE("net.retry_after: garbage is no wish") {
    for (const char* text :
         {"", "-1", "+5", "1.5", "soon", "0x10", "99999999999999999999", "12 0", "1e3", "Thu, 32 Jun 2026 19:02:00 GMT",
          "Thu, 31 Jun 2026 19:02:00 GMT", "Thu, 11 Foo 2026 19:02:00 GMT", "Thu, 11 Jun 2026 25:02:00 GMT",
          "Thu, 11 Jun 2026 19:02:00 CEST", "2026-06-11T19:02:00Z", "Thu, 00 Jun 2026 19:02:00 GMT"}) {
        CAPTURE(text);
        CHECK_FALSE(wish(text));
    }
    CHECK_FALSE(net::retry_after({}, kNow));
}
