#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "store/watchdog.hpp"

using ftlfeed::core::Clock;
using ftlfeed::store::SocketWatch;
using std::chrono::milliseconds;

namespace {

struct Pair {
    std::array<int, 2> ends{};
    Pair() { REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0); }
    ~Pair() {
        for (const int end : ends) close(end);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    /// Blocks until bytes come or the socket is shut down.
    [[nodiscard]] ssize_t read_one() const {
        char byte = 0;
        return recv(ends[0], &byte, 1, 0);
    }
};

}  // namespace

TEST_CASE("store.watchdog: a read that nobody answers ends at the deadline") {
    const Pair pair;
    const auto begin = Clock::real().steady_now();
    const SocketWatch watch(pair.ends[0], begin + milliseconds(50));
    CHECK(pair.read_one() == 0);
    CHECK(Clock::real().steady_now() - begin >= milliseconds(50));
    CHECK(watch.has_fired());
}

TEST_CASE("store.watchdog: a socket whose watch has ended is left alone") {
    const Pair pair;
    const Pair other;
    {
        const SocketWatch watch(pair.ends[0], Clock::real().steady_now() + milliseconds(20));
        CHECK_FALSE(watch.has_fired());
    }
    // The other one's deadline lies behind it: once that has come, the first would have fired as well.
    const SocketWatch later(other.ends[0], Clock::real().steady_now() + milliseconds(60));
    CHECK(other.read_one() == 0);
    CHECK(send(pair.ends[1], "x", 1, MSG_NOSIGNAL) == 1);
    CHECK(pair.read_one() == 1);
}

TEST_CASE("store.watchdog: a nearer deadline that comes later is kept too") {
    const Pair far;
    const Pair near;
    const SocketWatch first(far.ends[0], Clock::real().steady_now() + std::chrono::hours(1));
    const SocketWatch second(near.ends[0], Clock::real().steady_now() + milliseconds(30));
    CHECK(near.read_one() == 0);
    CHECK_FALSE(first.has_fired());
}

TEST_CASE("store.watchdog: many threads watch at once and each is ended once") {
    std::vector<std::jthread> threads;
    std::atomic<int> ended{0};
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&ended, i] {
            for (int round = 0; round < 20; ++round) {
                const Pair pair;
                const SocketWatch watch(pair.ends[0], Clock::real().steady_now() + milliseconds(i % 3));
                if (pair.read_one() == 0) ++ended;
            }
        });
    }
    threads.clear();
    CHECK(ended == 160);
}
