// The real binary, killed and stopped; what it did is read from the folder's own log of renames.

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <csignal>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

/// Counts the renames of one folder as inotify tells them. It merges equal events that follow each other, so the other half
/// of each rename is watched as well.
class RenameLog {
public:
    explicit RenameLog(const std::filesystem::path& folder) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        REQUIRE(::inotify_add_watch(fd_, folder.c_str(), IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE) >= 0);
    }
    ~RenameLog() { ::close(fd_); }
    RenameLog(const RenameLog&) = delete;
    RenameLog& operator=(const RenameLog&) = delete;

    /// Renames to a name that does not begin with a dot, so far.
    int renames() { return read(), renames_; }
    int removals() { return read(), removals_; }

private:
    void read() {
        alignas(inotify_event) char buffer[8192];
        for (auto count = ::read(fd_, buffer, sizeof buffer); count > 0; count = ::read(fd_, buffer, sizeof buffer)) {
            for (const char* at = buffer; at < buffer + count;) {
                const auto* event = reinterpret_cast<const inotify_event*>(at);
                if (event->name[0] != '.' && (event->mask & IN_MOVED_TO) != 0) ++renames_;
                if (event->name[0] != '.' && (event->mask & IN_DELETE) != 0) ++removals_;
                at += sizeof(inotify_event) + event->len;
            }
        }
    }
    int fd_;
    int renames_ = 0;
    int removals_ = 0;
};

std::vector<std::string> command_of(const DeliverWorld& world, const std::string& worker) {
    auto command = world.command();
    command.insert(command.end(), {"--deliver.worker", worker});
    return command;
}

Process start(const DeliverWorld& world, const std::string& worker, const std::string& crash_at = "",
              const std::vector<std::string>& more = {}) {
    auto command = command_of(world, worker);
    command.insert(command.end(), more.begin(), more.end());
    ProcessOptions options;
    if (!crash_at.empty()) options.environment["FTL_CRASH_AT"] = crash_at;
    options.log = world.temp / (worker + ".log");
    return Process(command, options);
}

/// In mounts of its own, where `folder` is a disk of 64 KiB.
Process start_with_small_disk(const DeliverWorld& world, const std::filesystem::path& folder) {
    std::vector<std::string> command{"unshare", "--mount"};
    if (::geteuid() != 0) command.emplace_back("--map-root-user");
    command.insert(command.end(),
                   {"sh", "-c", "mount -t tmpfs -o size=64k tmpfs \"$0\" && exec \"$@\"", folder.string()});
    for (const auto& word : command_of(world, "main")) command.push_back(word);
    ProcessOptions options;
    options.log = world.temp / "main.log";
    return Process(command, options);
}

/// One file, version by version, with a crash at `point` while the second is sent; then a second life.
void crash_and_recover(const std::string& point) {
    const DeliverWorld world;
    world.add_destination("main");
    std::filesystem::create_directories(world.folder("main") / "wc");
    RenameLog log(world.folder("main") / "wc");
    world.publish("wc/calendar", "one");
    // The point is passed once for each version: the second time it is the end.
    auto first = start(world, "main", "2:" + point);
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    world.publish("wc/calendar", "two");
    const auto end = first.wait(20s);
    REQUIRE(end.has_value());
    CHECK(end->exit_code == 137);
    world.publish("wc/scorers", "meanwhile");
    auto second = start(world, "main");
    REQUIRE(wait_until([&] { return world.owed() == 0; }, 20s));
    CHECK(content(world.folder("main") / "wc/calendar.json") == "two");
    CHECK(content(world.folder("main") / "wc/scorers.json") == "meanwhile");
    CHECK(second.terminate(20s).exit_code == 0);
    // Each version that the receiver saw has one proof, and each proof one rename.
    CHECK(log.renames() == 3);
    CHECK(world.proofs() == 3);
    CHECK(world.count("delivery_state WHERE sending_seq IS NOT NULL") == 0);
    for (const auto& entry : std::filesystem::directory_iterator(world.folder("main") / "wc")) {
        CHECK(entry.path().filename().string().front() != '.');
    }
}

}  // namespace

TEST_CASE("deliver.process: SIGKILL after sending was written sends the version once and proves it once") {
    crash_and_recover("deliver.sending");
}

TEST_CASE("deliver.process: SIGKILL before the rename leaves the old file whole and then the new one") {
    crash_and_recover("deliver.temporary_written");
}

TEST_CASE("deliver.process: SIGKILL between rename and proof is settled by looking and proven once") {
    crash_and_recover("deliver.renamed");
}

TEST_CASE("deliver.process: SIGKILL right after the proof proves nothing twice") {
    crash_and_recover("deliver.proven");
}

TEST_CASE("deliver.process: SIGKILL between the removal of a retired file and its proof deletes once") {
    const DeliverWorld world;
    world.add_destination("main", ", on_retire", ", 'delete'");
    world.publish("wc/timeline/1", "match");
    auto first = start(world, "main", "1:deliver.removed");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    world.retire("wc/timeline/1");
    const auto end = first.wait(20s);
    REQUIRE(end.has_value());
    CHECK(end->exit_code == 137);
    auto second = start(world, "main");
    REQUIRE(wait_until([&] { return world.owed() == 0; }, 20s));
    CHECK_FALSE(std::filesystem::exists(world.folder("main") / "wc/timeline/1.json"));
    CHECK(world.proofs("deleted") == 1);
    CHECK(second.terminate(20s).exit_code == 0);
}

TEST_CASE("deliver.process: SIGTERM drains and exits 0 and gives the lease back") {
    const DeliverWorld world;
    world.add_destination("main");
    world.publish("wc/calendar", "body");
    auto process = start(world, "main");
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "body"));
    CHECK(process.terminate(20s).exit_code == 0);
    CHECK(world.db.value("SELECT holder FROM lease WHERE name = 'deliver:main'").empty());
    CHECK(world.owed() == 0);
}

TEST_CASE("deliver.process: nothing is sent before deliver.enabled is set") {
    const DeliverWorld world;
    world.add_destination("main");
    world.publish("wc/calendar", "body");
    const auto port = (world.temp / "port").string();
    auto process = start(world, "main", "",
                         {"--deliver.enabled", "false", "--ops.address", "127.0.0.1:0", "--ops.port_file", port});
    REQUIRE(wait_until([&] { return world.count("outbox_cursor") == 1 && !content(port).empty(); }, 20s));
    REQUIRE(wait_until([&] { return content(world.temp / "main.log").find("deliver.disabled") != std::string::npos; },
                       20s));
    CHECK(world.count("lease WHERE name LIKE 'deliver:%'") == 0);
    CHECK(process.terminate(20s).exit_code == 0);
    CHECK(world.count("delivery_state") == 0);
    CHECK(std::filesystem::is_empty(world.folder("main")));
}

TEST_CASE("deliver.process: of two processes of one name one works and the other takes over when it is killed") {
    const DeliverWorld world;
    world.add_destination("main");
    std::filesystem::create_directories(world.folder("main") / "wc");
    RenameLog log(world.folder("main") / "wc");
    auto first = start(world, "main");
    world.publish("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    const auto holder = world.db.value("SELECT holder FROM lease WHERE name = 'deliver:main'");
    auto second = start(world, "main");
    // Both ask for the lease.
    REQUIRE(wait_until(
        [&] {
            return world.count(
                       "pg_stat_activity WHERE datname = current_database() AND application_name LIKE '% lease'") == 2;
        },
        20s));
    for (int i = 2; i <= 5; ++i) {
        const auto body = "version " + std::to_string(i);
        world.publish("wc/calendar", body);
        REQUIRE(holds(world.folder("main") / "wc/calendar.json", body));
    }
    CHECK(world.db.value("SELECT holder FROM lease WHERE name = 'deliver:main'") == holder);
    first.kill();
    world.publish("wc/calendar", "by the second");
    CHECK(wait_until([&] { return content(world.folder("main") / "wc/calendar.json") == "by the second"; }, 20s));
    REQUIRE(wait_until([&] { return world.owed() == 0; }, 20s));
    CHECK(world.db.value("SELECT holder FROM lease WHERE name = 'deliver:main'") != holder);
    CHECK(log.renames() == world.proofs());
    CHECK(second.terminate(20s).exit_code == 0);
}

TEST_CASE("deliver.process: a paused process is replaced and publishes nothing old when it comes back") {
    const DeliverWorld world;
    world.add_destination("main");
    std::filesystem::create_directories(world.folder("main") / "wc");
    RenameLog log(world.folder("main") / "wc");
    auto zombie = start(world, "zombie");
    world.publish("wc/calendar", "one");
    REQUIRE(wait_until([&] { return world.proofs() == 1; }, 20s));
    zombie.signal(SIGSTOP);
    world.publish("wc/calendar", "two");
    auto heir = start(world, "heir");
    REQUIRE(holds(world.folder("main") / "wc/calendar.json", "two"));
    REQUIRE(wait_until([&] { return world.proofs() == 2; }, 20s));
    CHECK(world.db.value("SELECT worker FROM delivery_owner") == "heir");
    zombie.signal(SIGCONT);
    for (int i = 3; i <= 8; ++i) {
        const auto body = "version " + std::to_string(i);
        world.publish("wc/calendar", body);
        REQUIRE(holds(world.folder("main") / "wc/calendar.json", body));
    }
    REQUIRE(wait_until([&] { return world.owed() == 0; }, 20s));
    CHECK(world.db.value("SELECT worker FROM delivery_owner") == "heir");
    CHECK(log.renames() == world.proofs());
    CHECK(zombie.terminate(20s).exit_code == 0);
    CHECK(heir.terminate(20s).exit_code == 0);
}

TEST_CASE(
    "deliver.process: a full disk keeps the old file and alerts and holds up no other and ends when there is room") {
    const DeliverWorld world;
    world.add_destination("full");
    world.add_destination("good");
    auto process = start_with_small_disk(world, world.folder("full"));
    const auto inside = std::filesystem::path("/proc") / std::to_string(process.pid()) / "root";
    const auto place = inside / world.folder("full").relative_path() / "wc";
    world.publish("wc/calendar", "old");
    REQUIRE(wait_until([&] { return world.proofs() == 2 || !process.is_running(); }, 20s));
    if (!process.is_running()) {
        MESSAGE("no right to mount: the disk was not filled here");
        return;
    }
    CHECK(content(place / "calendar.json") == "old");
    const std::string large(200'000, 'x');
    world.publish("wc/calendar", large);
    REQUIRE(holds(world.folder("good") / "wc/calendar.json", large));
    const auto alerts = [&] {
        return world.count("alert WHERE kind = 'deliver.failing' AND subject = 'acme/full' AND cleared_at IS NULL");
    };
    REQUIRE(wait_until([&] { return alerts() == 1; }, 20s));
    CHECK(world.db.value("SELECT last_error FROM delivery_assignment WHERE name = 'full'").find("ENOSPC") !=
          std::string::npos);
    CHECK(content(place / "calendar.json") == "old");
    CHECK(run_command({"nsenter", "-t", std::to_string(process.pid()), "-m", "mount", "-o", "remount,size=4m",
                       world.folder("full").string()})
              .exit_code == 0);
    REQUIRE(holds(place / "calendar.json", large));
    CHECK(wait_until([&] { return alerts() == 0 && world.owed() == 0; }, 20s));
    CHECK(std::distance(std::filesystem::directory_iterator(place), {}) == 1);
    CHECK(process.terminate(20s).exit_code == 0);
}
