// Measures how long a committed change takes to reach the client's folder.
//   bench_latency ours URI FOLDER SECONDS PER_SECOND   changes an event that ftl-deliver makes a file of
//   bench_latency bare URI FOLDER SECONDS PER_SECOND   the same with a bare loop of SELECT, write, fsync, rename
// Counted from COMMIT's return here to the rename as inotify tells it here. Prints every latency in ms, one a line.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "bare_loop.hpp"
#include "folder_watch.hpp"
#include "postgres.hpp"

namespace {

using ftl::bench::BareLoop;
using ftl::bench::FolderWatch;
using ftl::bench::Postgres;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLateAfter{10'000};

struct Plan {
    std::string uri;
    std::string folder;
    int touches;
    milliseconds interval;
};

/// `change(n)` commits the n-th change; the file `name` in `folder` follows it.
void measure(const Plan& plan, const std::string& folder, const std::string& name,
             const std::function<void(int)>& change) {
    FolderWatch watch(folder);
    auto next = steady_clock::now();
    for (int touch = 0; touch < plan.touches; ++touch) {
        std::this_thread::sleep_until(next);
        next += plan.interval;
        watch.drain();
        change(touch);
        const auto committed = steady_clock::now();
        const auto seen = watch.wait_for(name, committed + kLateAfter);
        if (!seen)
            throw std::runtime_error("change " + std::to_string(touch) + " did not reach " + folder + "/" + name);
        std::printf("%.3f\n", std::chrono::duration<double, std::milli>(*seen - committed).count());
    }
}

void measure_ours(const Plan& plan) {
    Postgres postgres(plan.uri);
    // Unlike any value of an earlier round: an equal file would not be sent.
    const auto round = postgres.run("SELECT extract(epoch FROM clock_timestamp())");
    measure(plan, plan.folder + "/bench", "probe.json", [&](int touch) {
        postgres.run(
            "WITH changed AS (UPDATE event SET name = $1 WHERE code = 'bench' RETURNING code) "
            "SELECT ftl_touch('event', code, code) FROM changed",
            {round + "/" + std::to_string(touch)});
    });
}

void measure_bare(const Plan& plan) {
    const BareLoop loop(plan.uri, plan.folder);
    Postgres postgres(plan.uri);
    measure(plan, plan.folder, "bare.json", [&](int touch) {
        postgres.run(BareLoop::write_statement(), {"{\"name\":\"" + std::to_string(touch) + "\"}"});
    });
}

int usage() {
    std::fprintf(stderr, "usage: bench_latency ours|bare URI FOLDER SECONDS PER_SECOND\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) return usage();
    const std::string mode = argv[1];
    const int seconds = std::atoi(argv[4]);
    const int per_second = std::atoi(argv[5]);
    if (seconds < 1 || per_second < 1 || per_second > 1'000 || (mode != "ours" && mode != "bare")) return usage();
    try {
        const Plan plan{argv[2], argv[3], seconds * per_second, milliseconds(1'000 / per_second)};
        if (mode == "ours") {
            measure_ours(plan);
        } else {
            measure_bare(plan);
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_latency: %s\n", error.what());
        return 1;
    }
}
