#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "support/free_port.hpp"
#include "support/process.hpp"
#include "support/rng.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using std::chrono::milliseconds;

TEST_CASE("house: a condition that another thread makes true is waited for") {
    std::atomic<bool> is_done{false};
    const std::jthread other([&] { is_done = true; });
    CHECK(wait_until([&] { return is_done.load(); }));
}

TEST_CASE("house: a condition that stays false is given up at its limit") {
    const auto begin = std::chrono::steady_clock::now();
    CHECK_FALSE(wait_until([] { return false; }, milliseconds(20)));
    CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(20));
}

TEST_CASE("house: a program's two streams and its exit code are told apart") {
    const auto result = run_command({"sh", "-c", "cat; echo err >&2; exit 3"}, {.input = "in\n"});
    CHECK(result.exit_code == 3);
    CHECK(result.output == "in\n");
    CHECK(result.errors == "err\n");
}

TEST_CASE("house: a program that cannot be started is no success") {
    CHECK(run_command({"/no/such/program"}).exit_code == 127);
}

TEST_CASE("house: a killed program is told from one that ended by itself") {
    Process killed({"sleep", "100"});
    CHECK(killed.is_running());
    killed.kill();
    CHECK(killed.wait() == ProcessEnd{.exit_code = {}, .signal = SIGKILL});
    Process ended({"true"});
    CHECK(ended.wait() == ProcessEnd{.exit_code = 0, .signal = {}});
}

TEST_CASE("house: a program that ignores SIGTERM is killed after the limit") {
    const TempFolder folder;
    Process process({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"}, {.log = folder / "log"});
    REQUIRE(wait_until([&] { return read_file(folder / "log") == "ready\n"; }));
    CHECK(process.terminate(milliseconds(50)).signal == SIGKILL);
}

TEST_CASE("house: a temporary folder is gone with all it held") {
    std::filesystem::path path;
    {
        const TempFolder folder;
        path = folder.path();
        write_file(folder / "a/b.txt", "x");
        CHECK(read_file(folder / "a/b.txt") == "x");
    }
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("house: one seed gives the same numbers again") {
    FTL_RNG(rng);
    Rng again(rng.seed());
    for (int i = 0; i < 100; ++i) CHECK(rng.between(-5, 5) == again.between(-5, 5));
}

TEST_CASE("house: a free port lies below the range of outgoing connections") {
    const auto port = free_port();
    CHECK(port >= 10'000);
    CHECK(port < 20'000);
}
