// A server that may open no more files.

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

/// From now on the process may open so many more at most. It may have inherited some beyond.
void leave_descriptors(pid_t pid, int more) {
    std::set<rlim_t> open;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
        open.insert(std::stoul(entry.path().filename()));
    }
    rlimit limit{};
    REQUIRE(prlimit(pid, RLIMIT_NOFILE, nullptr, &limit) == 0);
    for (limit.rlim_cur = 0; more > 0; ++limit.rlim_cur) more -= open.contains(limit.rlim_cur) ? 0 : 1;
    REQUIRE(prlimit(pid, RLIMIT_NOFILE, &limit, nullptr) == 0);
}

double cpu_seconds(pid_t pid) {
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream words(stat.substr(stat.rfind(')') + 2));
    std::string word;
    for (int i = 0; i < 11; ++i) words >> word;  // State is the third of all; user time is the fourteenth.
    double user = 0;
    double system = 0;
    words >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

TEST_CASE("serve.descriptors: without any left it neither ends nor spins and serves on when there are some again") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto early = world.connect();
    CHECK(pull(early, "/feeds/wc/calendar", kKeyField).body == "one");
    const auto pid = world.server->pid();
    leave_descriptors(pid, 5);
    std::vector<TcpSocket> crowd;
    for (int i = 0; i < 50; ++i) crowd.push_back(world.connect());
    REQUIRE(wait_until([&] { return read_file(world.temp / "log").find("serve.accept_failed") != std::string::npos; }));
    const auto before = cpu_seconds(pid);
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(wait_until([&] {
        CHECK(pull(early, "/feeds/wc/calendar", kKeyField).body == "one");
        return std::chrono::steady_clock::now() - begin > 1s;
    }));
    // It answers one client all the time; that and no more.
    CHECK(cpu_seconds(pid) - before < 0.5);
    crowd.clear();
    CHECK(wait_until([&] {
        auto late = world.connect();
        try {
            return pull(late, "/feeds/wc/calendar", kKeyField).body == "one";
        } catch (const std::exception&) {
            return false;  // Closed while we wrote.
        }
    }));
}
