// ftl-sim's pulling client against the real server.

#include <rapidjson/document.h>

#include <sstream>

#include "world.hpp"

using namespace ftl::test;
using namespace std::chrono_literals;

namespace {

struct Line {
    std::string path;
    std::string sha256;
    std::string version;
    std::string error;
    int status = 0;
};

std::vector<Line> lines_of(const std::filesystem::path& log) {
    std::vector<Line> lines;
    if (!std::filesystem::exists(log)) return lines;
    std::istringstream reader(read_file(log));
    for (std::string text; std::getline(reader, text);) {
        rapidjson::Document json;
        json.Parse(text.c_str());
        const auto word = [&](const char* name) {
            return json.HasMember(name) && json[name].IsString() ? std::string(json[name].GetString()) : "";
        };
        lines.push_back({word("path"), word("sha256"), word("ftl_version"), word("error"),
                         json["status"].IsInt() ? json["status"].GetInt() : 0});
    }
    return lines;
}

Process start_pull(const ServeWorld& world, const std::vector<std::string>& more) {
    write_file(world.temp / "key", "k1\n");
    std::vector<std::string> command{app("ftl-sim").string(),
                                     "pull",
                                     "--url",
                                     "http://127.0.0.1:" + std::to_string(world.port()),
                                     "--key-file",
                                     world.temp / "key",
                                     "--log",
                                     world.temp / "pull.jsonl",
                                     "--folder",
                                     world.temp / "out",
                                     "--interval",
                                     "20"};
    command.insert(command.end(), more.begin(), more.end());
    ProcessOptions options;
    options.log = world.temp / "pull.log";
    return Process(command, options);
}

void pull_versions(const std::vector<std::string>& more) {
    const ServeWorld world;
    const auto log = world.temp / "pull.jsonl";
    put(world.redis, "wc/calendar", document("one", 1));
    std::filesystem::create_directories(world.temp / "out");
    auto words = more;
    words.insert(words.end(), {"--files", "wc/calendar,wc/nothing"});
    auto client = start_pull(world, words);
    const auto has = [&](int status, const std::string& version) {
        return wait_until([&] {
            const auto lines = lines_of(log);
            return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
                return line.path == "wc/calendar" && line.status == status && line.version == version;
            });
        });
    };
    REQUIRE(has(200, "1000-1-1"));
    REQUIRE(has(304, "1000-1-1"));
    put(world.redis, "wc/calendar", document("two", 2));
    REQUIRE(has(200, "1000-2-1"));
    REQUIRE(has(304, "1000-2-1"));
    CHECK(client.terminate().exit_code == 0);
    CHECK(read_file(world.temp / "out" / "wc/calendar.json") == "two");
    int bodies = 0;
    for (const auto& line : lines_of(log)) {
        if (line.path == "wc/nothing") CHECK(line.status == 404);
        if (line.status != 200) continue;
        ++bodies;
        CHECK(line.sha256 == ftlfeed::core::sha256_hex(line.version == "1000-1-1" ? "one" : "two"));
    }
    CHECK(bodies == 2);
}

}  // namespace

TEST_CASE("serve.sim_pull: a pulling client gets each version once and 304 in between") { pull_versions({}); }

TEST_CASE("serve.sim_pull: a client that takes gzip logs the same bytes unpacked") { pull_versions({"--gzip"}); }

TEST_CASE("serve.sim_pull: it goes on when the server comes back and takes files up that are listed later") {
    ServeWorld world;
    const auto log = world.temp / "pull.jsonl";
    put(world.redis, "wc/calendar", document("one", 1));
    put(world.redis, "wc/standings", document("table", 2));
    std::filesystem::create_directories(world.temp / "out");
    write_file(world.temp / "list", "wc/calendar\n");
    auto client = start_pull(world, {"--files", "@" + (world.temp / "list").string()});
    const auto file = world.temp / "out" / "wc/standings.json";
    REQUIRE(wait_until([&] { return lines_of(log).size() > 3; }));
    write_file(world.temp / "list", "wc/calendar\nwc/standings\n");
    REQUIRE(wait_until([&] { return std::filesystem::exists(file) && read_file(file) == "table"; }));
    world.server->kill();
    REQUIRE(wait_until([&] {
        const auto lines = lines_of(log);
        return !lines.back().error.empty() && lines.back().status == 0;
    }));
    CHECK(client.is_running());
    CHECK(client.terminate().exit_code == 0);
}

TEST_CASE("serve.sim_pull: its command line is checked") {
    TempFolder temp;
    write_file(temp / "key", "k1\n");
    const auto call = [&](const std::vector<std::string>& words) {
        std::vector<std::string> command{app("ftl-sim").string(), "pull"};
        command.insert(command.end(), words.begin(), words.end());
        return run_command(command).exit_code;
    };
    const std::string key = temp / "key";
    const std::string log = temp / "log";
    CHECK(call({"--help"}) == 0);
    CHECK(call({}) == 2);
    CHECK(call({"--url", "ftp://a:1", "--key-file", key, "--log", log, "--files", "a/b"}) == 2);
    CHECK(call({"--url", "http://127.0.0.1:1", "--key-file", log, "--log", log, "--files", "a/b"}) == 2);
    CHECK(call({"--url", "http://127.0.0.1:1", "--key-file", key, "--log", log, "--files", "../b"}) == 2);
    CHECK(call({"--url", "http://127.0.0.1:1", "--key-file", key, "--log", log}) == 2);
    CHECK(call({"--url", "http://127.0.0.1:1", "--key-file", key, "--log", log, "--files", "a/b", "--rounds", "1"}) ==
          0);
}
