#include "deliver/sender_threads.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>

#include "deliver/body_cache.hpp"
#include "support/wait.hpp"

using namespace ftlfeed::deliver;
using namespace std::chrono_literals;
using ftl::test::wait_until;

TEST_CASE("deliver.threads: work starts at once though all others hang and the cap holds") {
    std::atomic<bool> is_open{false};
    std::atomic<int> done{0};
    {
        SenderThreads threads(50, 10s);
        for (int i = 0; i < 49; ++i) {
            REQUIRE(threads.run([&] {
                is_open.wait(false);
                ++done;
            }));
        }
        std::atomic<bool> has_run{false};
        REQUIRE(threads.run([&] {
            // Room for a driver's buffers on the small stack.
            std::array<char, 100'000> buffer{};
            has_run = buffer[99'999] == 0;
        }));
        CHECK(wait_until([&] { return has_run.load(); }));
        REQUIRE(wait_until([&] { return threads.busy() == 49; }));
        REQUIRE(threads.run([&] { is_open.wait(false); }));
        CHECK_FALSE(threads.run([] {}));
        is_open = true;
        is_open.notify_all();
    }
    CHECK(done == 49);  // The destructor waited for all.
}

TEST_CASE("deliver.threads: an idle thread serves the next work and ends after its limit") {
    SenderThreads threads(4, 30ms);
    std::atomic<int> done{0};
    for (int i = 0; i < 100; ++i) {
        REQUIRE(wait_until([&] { return threads.run([&] { ++done; }); }));
    }
    CHECK(wait_until([&] { return done == 100; }));
    CHECK(wait_until([&] { return threads.busy() == 0; }));
}

TEST_CASE("deliver.bodies: a body is loaded once for all that send it and the bound holds") {
    BodyCache bodies(10);
    int loads = 0;
    const auto load = [&](std::size_t bytes) {
        return [&loads, bytes] {
            ++loads;
            return std::make_shared<const Body>(Body{std::string(bytes, 'x'), "h", {}, {}, {}});
        };
    };
    const auto first = bodies.get("a", {1, 1, 0}, load(4));
    CHECK(bodies.get("a", {1, 1, 0}, load(4)) == first);
    CHECK(loads == 1);
    static_cast<void>(bodies.get("a", {1, 2, 0}, load(4)));
    CHECK(bodies.bytes() == 8);
    CHECK(bodies.get("a", {1, 1, 0}, load(4)) == first);  // Used lately: it stays.
    static_cast<void>(bodies.get("b", {1, 1, 0}, load(4)));
    CHECK(bodies.bytes() == 8);
    CHECK(bodies.get("a", {1, 1, 0}, load(4)) == first);
    CHECK(loads == 3);
    static_cast<void>(bodies.get("huge", {1, 1, 0}, load(11)));
    CHECK(bodies.bytes() <= 10);
}
