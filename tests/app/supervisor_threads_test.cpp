#include <doctest/doctest.h>

#include <atomic>
#include <ftlfeed/core/failure.hpp>
#include <stdexcept>
#include <thread>

#include "common/supervisor.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using core::Failure;
using ftl::test::wait_until;
using std::chrono::milliseconds;

namespace {

struct Fixture {
    app::CommonSettings settings;
    core::ManualClock clock;
    std::stop_source stop;
    app::Runtime runtime{"test", settings, clock, stop};

    /// Runs `workers` while time goes by; asks the stop when `until` holds. Returns what run() threw.
    std::string run(app::Supervisor& workers, const std::function<bool()>& until) {
        std::jthread driver([&](const std::stop_token& end) {
            static_cast<void>(wait_until([&] {
                clock.advance(milliseconds(500));
                return until() || end.stop_requested();
            }));
            stop.request_stop();
        });
        try {
            workers.run();
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    }
};

void until_stopped(app::Worker& worker) {
    while (worker.sleep_for(std::chrono::hours(1))) {
    }
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "app.supervisor: the stop reaches every worker and run returns") {
    std::atomic<int> ended{0};
    app::Supervisor workers(runtime);
    for (const char* name : {"a", "b", "c"}) {
        workers.add(name, [&](app::Worker& worker) {
            until_stopped(worker);
            ++ended;
        });
    }
    CHECK(run(workers, [] { return true; }) == "");
    CHECK(ended == 3);
}

TEST_CASE_FIXTURE(Fixture, "app.supervisor: a worker that dies ends all the others and run throws what it died of") {
    std::atomic<bool> other_ended{false};
    app::Supervisor workers(runtime);
    workers.add("good", [&](app::Worker& worker) {
        until_stopped(worker);
        other_ended = true;
    });
    workers.add("bad", [](app::Worker&) { throw std::runtime_error("broke"); });
    CHECK(run(workers, [] { return false; }) == "broke");
    CHECK(other_ended);
}

TEST_CASE_FIXTURE(Fixture, "app.supervisor: when all have returned it is over without a stop") {
    app::Supervisor workers(runtime);
    workers.add("short", [](app::Worker&) {});
    workers.run();
    CHECK_FALSE(stop.stop_requested());
}

TEST_CASE_FIXTURE(Fixture, "app.supervisor: nothing is ready before each worker is named whichever begins first") {
    runtime.readiness().set_waiting(app::kWorkersPart, "starting");
    CHECK(runtime.wait_for("postgres", [] {}));
    app::Supervisor workers(runtime);
    std::atomic<bool> was_early{runtime.readiness().is_ready()};
    std::atomic<bool> has_looked{false};
    workers.add_retrying("quick", [&](app::Worker& worker) {
        worker.ready();
        was_early = was_early || runtime.readiness().is_ready();
        has_looked = true;
        until_stopped(worker);
    });
    workers.add_retrying("slow", [&](app::Worker& worker) {
        while (!has_looked) std::this_thread::yield();
        worker.ready();
        until_stopped(worker);
    });
    CHECK(run(workers, [&] { return runtime.readiness().is_ready(); }) == "");
    CHECK_FALSE(was_early);
}

TEST_CASE_FIXTURE(Fixture,
                  "app.supervisor: a failure that may be retried begins the loop anew and readyz says why meanwhile") {
    std::atomic<int> rounds{0};
    std::atomic<bool> was_named{false};
    app::Supervisor workers(runtime);
    workers.add_retrying("poll", [&](app::Worker& worker) {
        if (++rounds < 4) throw Failure::unavailable("provider away");
        was_named = runtime.readiness().json().find("provider away") != std::string::npos;
        worker.ready();
        until_stopped(worker);
    });
    CHECK(run(workers, [&] { return runtime.readiness().is_ready(); }) == "");
    CHECK(rounds == 4);
    CHECK(was_named);
}

TEST_CASE_FIXTURE(Fixture, "app.supervisor: what cannot be retried ends the service and names the worker") {
    app::Supervisor workers(runtime);
    workers.add_retrying("poll", [](app::Worker&) { throw Failure::permanent("no such table"); });
    CHECK(run(workers, [] { return false; }) == "poll: no such table");
}

TEST_CASE_FIXTURE(Fixture, "app.supervisor: a failure after the stop is no death") {
    app::Supervisor workers(runtime);
    workers.add_retrying("poll", [](app::Worker& worker) {
        until_stopped(worker);
        throw Failure::unavailable("interrupted");
    });
    CHECK(run(workers, [] { return true; }) == "");
}

TEST_CASE_FIXTURE(Fixture, "app.supervisor: the pause between two tries grows and is never nothing") {
    std::atomic<int> rounds{0};
    app::Supervisor workers(runtime);
    workers.add_retrying("poll", [&](app::Worker&) {
        ++rounds;
        throw Failure::busy("away");
    });
    std::jthread service([&] { workers.run(); });
    REQUIRE(wait_until([&] { return rounds == 1; }));
    // Time stands still: there is no second try, however long one waits; 50 ms are the least.
    for (int i = 0; i < 50; ++i) {
        clock.advance(milliseconds(0));
        std::this_thread::yield();
    }
    CHECK(rounds == 1);
    clock.advance(milliseconds(49));
    CHECK(rounds == 1);
    REQUIRE(wait_until([&] {
        clock.advance(milliseconds(100));
        return rounds > 3;
    }));
    stop.request_stop();
}

TEST_CASE_FIXTURE(Fixture,
                  "app.runtime: waiting for a server ends with it or with the stop or with what waiting cannot cure") {
    int tries = 0;
    std::jthread time([&](const std::stop_token& end) {
        while (!end.stop_requested()) {
            clock.advance(milliseconds(100));
            std::this_thread::yield();
        }
    });
    CHECK(runtime.wait_for("redis", [&] {
        if (++tries < 3) throw Failure::unavailable("refused");
    }));
    CHECK(tries == 3);
    CHECK(runtime.readiness().is_ready());
    CHECK_THROWS_AS(static_cast<void>(runtime.wait_for("redis", [] { throw Failure::permanent("wrong password"); })),
                    Failure);
    CHECK_FALSE(runtime.wait_for("redis", [&] {
        stop.request_stop();
        throw Failure::unavailable("refused");
    }));
    CHECK(runtime.readiness().json().find("refused") != std::string::npos);
}
