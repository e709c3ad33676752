#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/store/listener.hpp>
#include <thread>

using ftlfeed::store::WakeUp;
using std::chrono::hours;
using std::chrono::milliseconds;

TEST_CASE("store.wake_up: a signal before the wait is not lost and counts once") {
    WakeUp wake;
    wake.signal();
    wake.signal();
    CHECK(wake.wait_for(hours(1), {}));
    CHECK_FALSE(wake.wait_for(milliseconds(0), {}));
}

TEST_CASE("store.wake_up: a signal and a stop end a wait that runs") {
    WakeUp wake;
    std::atomic<int> signalled{0};
    std::jthread waiter([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (wake.wait_for(hours(1), stop)) ++signalled;
        }
    });
    wake.signal();
    while (signalled == 0) std::this_thread::yield();
    waiter = {};  // Asks the stop and joins.
    CHECK(signalled == 1);
}
