#include "receive.hpp"

#include <doctest/doctest.h>
#include <rapidjson/document.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;
namespace fs = std::filesystem;

namespace {

constexpr const char* kHashOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

struct Line {
    std::string path;
    std::string sha256;
    std::string event;
    std::string note;
    long bytes = -1;
};

std::string text(const rapidjson::Value& object, const char* key) {
    const auto member = object.FindMember(key);
    return member != object.MemberEnd() && member->value.IsString() ? member->value.GetString() : "";
}

/// A receiver on a folder of its own.
class Received {
public:
    Received() { fs::create_directory(folder_ / "out"); }
    ~Received() {
        if (receiver_) receiver_->stop();
    }
    Received(const Received&) = delete;
    Received& operator=(const Received&) = delete;

    void start() {
        receiver_.emplace(ReceiveSettings{root().string(), log().string()});
        thread_ = std::jthread([this] { receiver_->run(); });
    }
    /// Watches from now on, but does not look before run().
    void watch_only() { receiver_.emplace(ReceiveSettings{root().string(), log().string()}); }
    void run() {
        thread_ = std::jthread([this] { receiver_->run(); });
    }
    /// Ends it; the log is complete then.
    std::vector<Line> finish() {
        receiver_->stop();
        thread_.join();
        return lines();
    }

    [[nodiscard]] fs::path root() const { return folder_ / "out"; }
    [[nodiscard]] fs::path log() const { return folder_ / "log.jsonl"; }

    /// As a careful sender does: written under a temporary name, then renamed.
    void publish(const std::string& path, const std::string& content) const {
        const auto target = root() / path;
        const auto temporary = target.parent_path() / ("." + target.filename().string() + ".tmp");
        std::ofstream(temporary) << content;
        fs::rename(temporary, target);
    }

    [[nodiscard]] std::vector<Line> lines() const {
        std::vector<Line> lines;
        std::istringstream content(read_file(log()));
        for (std::string raw; std::getline(content, raw);) {
            rapidjson::Document json;
            json.Parse(raw.data(), raw.size());
            REQUIRE_MESSAGE(json.IsObject(), raw);
            const auto bytes = json.FindMember("bytes");
            const bool has_bytes = bytes != json.MemberEnd() && bytes->value.IsInt();
            CHECK(text(json, "time").size() == std::string("2026-06-11T19:00:00.123Z").size());
            lines.push_back({text(json, "path"), text(json, "sha256"), text(json, "event"), text(json, "note"),
                             has_bytes ? bytes->value.GetInt() : -1});
        }
        return lines;
    }

private:
    TempFolder folder_;
    std::optional<Receiver> receiver_;
    std::jthread thread_;
};

std::map<std::string, int> renames_by_path(const std::vector<Line>& lines) {
    std::map<std::string, int> renames;
    for (const auto& line : lines) {
        if (line.event.empty()) ++renames[line.path];
    }
    return renames;
}

}  // namespace

TEST_CASE("sim.receive: a file that is renamed in is one line with its path and size and hash") {
    Received received;
    received.start();
    received.publish("calendar.json", "abc");
    const auto lines = received.finish();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].path == "calendar.json");
    CHECK(lines[0].bytes == 3);
    CHECK(lines[0].sha256 == kHashOfAbc);
    CHECK(lines[0].event.empty());
}

TEST_CASE("sim.receive: a line is on the disk while the receiver runs") {
    Received received;
    received.start();
    received.publish("a", "abc");
    CHECK(wait_until([&] { return received.lines().size() == 1; }));
}

TEST_CASE("sim.receive: two quick renames of one path are two lines") {
    Received received;
    received.watch_only();
    received.publish("a", "first");
    received.publish("a", "abc");
    received.run();
    const auto lines = received.finish();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].path == "a");
    CHECK(lines[1].path == "a");
    CHECK(lines[1].sha256 == kHashOfAbc);
}

TEST_CASE("sim.receive: files in folders made meanwhile are each one line however quickly they came") {
    Received received;
    received.start();
    std::set<std::string> sent;
    for (int n = 0; n < 200; ++n) {
        const auto folder = "event" + std::to_string(n) + "/timeline/deep";
        fs::create_directories(received.root() / folder);
        for (const char* name : {"/1.json", "/2.json"}) {
            received.publish(folder + name, "abc");
            sent.insert(folder + name);
        }
    }
    const auto renames = renames_by_path(received.finish());
    CHECK(renames.size() == sent.size());
    for (const auto& path : sent) {
        CAPTURE(path);
        CHECK(renames.contains(path));
        if (renames.contains(path)) CHECK(renames.at(path) == 1);
    }
}

TEST_CASE("sim.receive: a folder that is moved in brings its files and one that is made again is watched again") {
    Received received;
    received.start();
    const TempFolder elsewhere;
    fs::create_directory(received.root() / ".staging");
    write_file(received.root() / ".staging" / "x.json", "abc");
    fs::rename(received.root() / ".staging", received.root() / "moved");
    REQUIRE(wait_until([&] { return renames_by_path(received.lines()).contains("moved/x.json"); }));
    fs::remove_all(received.root() / "moved");
    REQUIRE(wait_until([&] { return received.lines().size() == 2; }));
    fs::create_directory(received.root() / "moved");
    received.publish("moved/y.json", "abc");
    const auto renames = renames_by_path(received.finish());
    CHECK(renames.at("moved/x.json") == 1);
    CHECK(renames.at("moved/y.json") == 1);
}

TEST_CASE("sim.receive: temporary names are not looked at and what was there before is not logged") {
    Received received;
    write_file(received.root() / "old.json", "old");
    write_file(received.root() / "sub" / "old.json", "old");
    received.start();
    write_file(received.root() / ".half", "x");
    fs::rename(received.root() / ".half", received.root() / ".still");
    fs::create_directory(received.root() / ".hidden");
    received.publish("sub/new.json", "abc");
    const auto lines = received.finish();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].path == "sub/new.json");
}

TEST_CASE("sim.receive: a deletion is logged as one") {
    Received received;
    received.start();
    received.publish("a", "abc");
    fs::remove(received.root() / "a");
    const auto lines = received.finish();
    REQUIRE(lines.size() == 2);
    CHECK(lines[1].event == "deleted");
    CHECK(lines[1].path == "a");
}

TEST_CASE("sim.receive: a file that is gone before it could be read keeps its line") {
    Received received;
    received.watch_only();
    received.publish("a", "abc");
    fs::remove(received.root() / "a");
    received.run();
    const auto lines = received.finish();
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].path == "a");
    CHECK(lines[0].bytes == -1);
    CHECK(lines[0].event.empty());
}

TEST_CASE("sim.receive: a stop comes after all that was renamed before it") {
    Received received;
    received.start();
    for (int n = 0; n < 500; ++n) received.publish("f" + std::to_string(n), "abc");
    CHECK(received.finish().size() == 500);
}

TEST_CASE("sim.receive: when the kernel drops events it is said and every changed file is still logged") {
    std::size_t queue = 0;
    std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queue;
    REQUIRE(queue > 0);
    Received received;
    received.publish("same.json", "abc");
    received.publish("gone.json", "abc");
    received.watch_only();
    fs::remove(received.root() / "gone.json");
    // Each rename is three events: made, moved from, moved to.
    const auto files = queue / 3 + 300;
    for (std::size_t n = 0; n < files; ++n) received.publish("f" + std::to_string(n), "abc");
    fs::create_directory(received.root() / "late");
    received.publish("late/x.json", "abc");
    received.run();
    const auto lines = received.finish();
    const auto renames = renames_by_path(lines);
    CHECK(renames.size() == files + 1);
    CHECK(renames.contains("late/x.json"));
    CHECK_FALSE(renames.contains("same.json"));
    std::set<std::string> events;
    bool has_rescan = false;
    for (const auto& line : lines) {
        events.insert(line.event + ":" + line.path);
        has_rescan = has_rescan || line.note == "rescan";
    }
    CHECK(events.contains("overflow:"));
    CHECK(events.contains("deleted:gone.json"));
    CHECK(has_rescan);
}

TEST_CASE("sim.receive: a folder that is not there is a clear error") {
    const TempFolder folder;
    const ReceiveSettings settings{(folder / "none").string(), (folder / "log").string()};
    CHECK_THROWS_WITH_AS(Receiver{settings}, doctest::Contains("is not a folder"), std::runtime_error);
}
