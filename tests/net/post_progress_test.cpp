#include <doctest/doctest.h>

#include "net/post_progress.hpp"

using namespace ftlfeed;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const core::SteadyTime kStart = core::SteadyTime{} + std::chrono::hours(1);

net::PostLimits limits() {
    net::PostLimits limits;
    limits.connect = seconds(10);
    limits.bytes = seconds(60);
    limits.reply = seconds(120);
    limits.bytes_per_second_min = 1000;
    return limits;
}

}  // namespace

TEST_CASE("net.post_progress: each phase has its own limit and both of its sides are held") {
    net::PostProgress progress(limits(), 1'000'000, kStart);
    CHECK_FALSE(progress.over(kStart + milliseconds(9'999)));
    CHECK(progress.over(kStart + seconds(10))->find("no connection") == 0);
    auto now = kStart + seconds(5);
    progress.connected(now);
    CHECK_FALSE(progress.over(now + milliseconds(59'999)));
    CHECK(progress.over(now + seconds(60))->find("the bytes") == 0);
    now += seconds(59);
    progress.uploaded(1'000'000, now);
    CHECK_FALSE(progress.over(now + milliseconds(119'999)));
    CHECK(progress.over(now + seconds(120))->find("no whole answer") == 0);
    CHECK(progress.next_limit() == now + seconds(120));
}

TEST_CASE("net.post_progress: the minimum speed is judged over whole windows while bytes go out") {
    net::PostProgress progress(limits(), 1'000'000, kStart);
    progress.connected(kStart);
    progress.uploaded(0, kStart + milliseconds(4'999));
    CHECK_FALSE(progress.over(kStart + milliseconds(4'999)));
    progress.uploaded(5'000, kStart + seconds(5));
    CHECK_FALSE(progress.over(kStart + seconds(5)));
    CHECK(progress.next_limit() == kStart + seconds(10));
    progress.uploaded(9'999, kStart + seconds(10));
    CHECK(progress.over(kStart + seconds(10))->find("less than 1000 bytes a second") != std::string::npos);
}

TEST_CASE("net.post_progress: waiting for the answer is not slow and zero means no minimum") {
    net::PostProgress waits(limits(), 10, kStart);
    waits.connected(kStart);
    waits.uploaded(10, kStart);
    waits.uploaded(10, kStart + seconds(100));
    CHECK_FALSE(waits.over(kStart + seconds(100)));
    auto without = limits();
    without.bytes_per_second_min = 0;
    net::PostProgress slow(without, 1'000'000, kStart);
    slow.connected(kStart);
    slow.uploaded(1, kStart + seconds(50));
    CHECK_FALSE(slow.over(kStart + seconds(50)));
    CHECK(slow.next_limit() == kStart + seconds(60));
}

TEST_CASE("net.post_progress: a body without bytes waits for its answer at once") {
    net::PostProgress progress(limits(), 0, kStart);
    progress.connected(kStart);
    CHECK(progress.next_limit() == kStart + seconds(120));
}
