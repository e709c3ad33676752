// Reads the options of `ftl-sim pull` and runs it.
#include <fstream>

#include "command.hpp"
#include "options.hpp"
#include "pull.hpp"

namespace ftlfeed::sim {
namespace {

/// The first line of a file: keys never stand on a command line, which every user of the machine can read.
std::string key_in(const std::string& path) {
    std::ifstream file(path);
    std::string key;
    if (!std::getline(file, key) || key.empty()) throw UsageError("no key is in " + path);
    return key;
}

PullSettings pull_settings(const cxxopts::ParseResult& options) {
    PullSettings settings;
    settings.url = needed(options, "url");
    settings.key = key_in(needed(options, "key-file"));
    if (options.count("files") == 0) throw UsageError("--files is needed: EVENT/FEED_TYPE, or @LIST");
    for (const auto& file : options["files"].as<Texts>()) {
        if (file.starts_with('@')) {
            settings.files_from = file.substr(1);
        } else if (file.empty() || file.find("..") != std::string::npos) {
            throw UsageError("--files: '" + file + "' is no EVENT/FEED_TYPE");
        } else {
            settings.files.push_back(file);
        }
    }
    settings.folder = options["folder"].as<std::string>();
    settings.log = needed(options, "log");
    settings.interval = std::chrono::milliseconds(options["interval"].as<std::uint32_t>());
    settings.rounds_max = options["rounds"].as<std::uint64_t>();
    settings.takes_gzip = options["gzip"].as<bool>();
    return settings;
}

}  // namespace

int run_pull(const std::vector<std::string>& arguments) {
    cxxopts::Options options("ftl-sim pull", "A client that pulls files again and again and logs every answer.\n");
    auto add = options.add_options();
    add("url", "Where ftl-serve listens", cxxopts::value<std::string>(), "http://HOST:PORT");
    add("key-file", "File with the key in its first line", cxxopts::value<std::string>(), "FILE");
    add("files", "EVENT/FEED_TYPE[/FILTER], parted by commas; @LIST: a file with more, read anew in each round",
        cxxopts::value<Texts>(), "FILES");
    add("folder", "Keep bodies here, unpacked, as FILE.json", cxxopts::value<std::string>()->default_value(""), "DIR");
    add("log", "Log to append to, a JSON object a line", cxxopts::value<std::string>(), "FILE");
    add("interval", "From one round to the next", cxxopts::value<std::uint32_t>()->default_value("1000"), "MS");
    add("rounds", "End after so many; 0: at SIGTERM", cxxopts::value<std::uint64_t>()->default_value("0"), "N");
    add("gzip", "Ask for packed bodies", cxxopts::value<bool>()->default_value("false"));
    const auto parsed = parse(options, arguments, R"(
A line: {"time":"2026-06-11T19:00:00.123Z","path":"cup/calendar","bytes":512,"sha256":"...","status":200,
         "ftl_version":"1780000000-5-1","etag":"\"1780000000-5-1-gzip\"","coding":"gzip"}
It tells which version it has (If-None-Match), so that most answers are 304: then bytes and sha256 are null.

Example:
  ftl-sim pull --url http://127.0.0.1:8080 --key-file key --files cup/calendar,cup/standings --log pull.jsonl --gzip
)");
    if (!parsed) return 0;
    Puller puller(pull_settings(*parsed));
    const SignalWatch watch({SIGTERM, SIGINT}, [&puller](int) { puller.stop(); });
    puller.run();
    return 0;
}

}  // namespace ftlfeed::sim
