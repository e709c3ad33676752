#include <ftlfeed/deliver/pace.hpp>

#include <doctest/doctest.h>

using ftlfeed::core::Failure;
using ftlfeed::core::SteadyTime;
using namespace ftlfeed::deliver;
using namespace std::chrono_literals;

namespace {

constexpr Pace kPace{5, 500ms, 300s};
const SteadyTime kNow = SteadyTime{} + 1000h;
const auto kDown = Failure::unavailable("connect to 127.0.0.1:2222");

}  // namespace

TEST_CASE("deliver.pace: quick tries double their ceiling with full jitter") {
    for (int failures = 1; failures <= kPace.fast_retries_max; ++failures) {
        const auto ceiling = 500ms * (1 << (failures - 1));
        CHECK(next_try(kPace, failures, kDown, kNow, 0.0) == kNow);
        CHECK(next_try(kPace, failures, kDown, kNow, 0.5) == kNow + ceiling / 2);
        CHECK(next_try(kPace, failures, kDown, kNow, 0.999999) < kNow + ceiling);
    }
}

TEST_CASE("deliver.pace: the slow pace starts right after the last quick try") {
    CHECK(next_try(kPace, kPace.fast_retries_max, kDown, kNow, 0.5) < kNow + kPace.slow);
    CHECK(next_try(kPace, kPace.fast_retries_max + 1, kDown, kNow, 0.5) == kNow + kPace.slow);
    CHECK(next_try(kPace, 1'000'000, kDown, kNow, 0.5) == kNow + kPace.slow);
}

TEST_CASE("deliver.pace: a refusal that lasts goes to the slow pace at once") {
    const auto login = Failure::permanent("login refused");
    CHECK(next_try(kPace, 1, login, kNow, 0.0) == kNow + kPace.slow);
}

TEST_CASE("deliver.pace: Retry-After comes first and has a bound") {
    CHECK(next_try(kPace, 1, kDown.with_retry_after(120s), kNow, 0.5) == kNow + 120s);
    CHECK(next_try(kPace, 99, kDown.with_retry_after(1s), kNow, 0.5) == kNow + 1s);
    CHECK(next_try(kPace, 1, kDown.with_retry_after(9999h), kNow, 0.5) == kNow + kRetryAfterMax);
    CHECK(next_try(kPace, 1, kDown.with_retry_after(-5s), kNow, 0.5) == kNow);
}

TEST_CASE("deliver.pace: a newer version brings a delayed try forward to a minute after the last one") {
    auto tries = after_failure({}, kPace, kDown, kNow, 0.5);
    for (int i = 0; i < 9; ++i) tries = after_failure(tries, kPace, kDown, kNow, 0.5);
    REQUIRE(tries.next_try == kNow + kPace.slow);
    CHECK(after_newer_version(tries, kNow + 1s).next_try == kNow + kEarlyTryInterval);
    CHECK(after_newer_version(tries, kNow + 90s).next_try == kNow + 90s);
    CHECK(after_newer_version(tries, kNow + 299s).next_try == kNow + 299s);
    CHECK(after_newer_version(tries, kNow + 1s).failures == tries.failures);
}

TEST_CASE("deliver.pace: C12 a version every second does not turn back-off into hammering") {
    Tries tries;
    int tried = 0;
    for (auto now = kNow; now < kNow + 1h; now += 1s) {
        tries = after_newer_version(tries, now);
        if (!tries.may_try(now)) continue;
        tries = after_failure(tries, kPace, kDown, now, 0.999);
        ++tried;
    }
    // Five quick tries and the first slow one, then at most one a minute.
    CHECK(tried <= kPace.fast_retries_max + 1 + 60);
    CHECK(tried >= 55);
    CHECK(tries.failures == tried);
}

TEST_CASE("deliver.pace: no newer version brings a lasting refusal or a Retry-After forward") {
    const auto refused = after_failure({}, kPace, Failure::permanent("403"), kNow, 0.5);
    CHECK(after_newer_version(refused, kNow + 200s) == refused);
    const auto asked = after_failure({}, kPace, Failure::busy("429").with_retry_after(600s), kNow, 0.5);
    CHECK(after_newer_version(asked, kNow + 200s) == asked);
}

TEST_CASE("deliver.pace: C20 a stored next try is worth no more than the slow pace from now") {
    CHECK(tries_from({7, 8760h, false}, kPace, kNow).next_try == kNow + kPace.slow);
    CHECK(tries_from({7, -8760h, false}, kPace, kNow).next_try == kNow);
    CHECK(tries_from({7, 42s, false}, kPace, kNow).next_try == kNow + 42s);
    CHECK(tries_from({7, std::nullopt, false}, kPace, kNow).may_try(kNow));
    CHECK(tries_from({7, 42s, false}, kPace, kNow).failures == 7);
    CHECK_FALSE(tries_from({7, 42s, true}, kPace, kNow).may_come_early);
    CHECK(tries_from({0, 42s, true}, kPace, kNow) == Tries{});
    CHECK(tries_from({-3, 42s, true}, kPace, kNow) == Tries{});
}
