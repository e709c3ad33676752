#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "pull_http.hpp"
#include "received_log.hpp"

namespace ftlfeed::sim {

struct PullSettings {
    std::string url;                 ///< `http://HOST:PORT`
    std::string key;                 ///< Sent as `Authorization: Bearer`.
    std::vector<std::string> files;  ///< `EVENT/FEED_TYPE[/FILTER]`
    std::string files_from;          ///< A file with more of them, one a line, read anew in each round; empty: none.
    std::string folder;              ///< Bodies are kept here as FILE.json; empty: nowhere.
    std::string log;                 ///< Appended to, one JSON object a line.
    std::chrono::milliseconds interval{1000};
    std::uint64_t rounds_max = 0;  ///< 0: until stop().
    bool takes_gzip = false;
};

/// A pulling client: asks for each file again and again, tells which version it has, keeps what is new, and logs every
/// answer. Threads: run() in one, stop() from any.
class Puller {
public:
    /// Throws UsageError, std::runtime_error.
    explicit Puller(PullSettings settings);
    Puller(const Puller&) = delete;
    Puller& operator=(const Puller&) = delete;

    /// Blocks until stop(), or until the rounds are over. The round under way is finished.
    void run();
    void stop();

private:
    void pull(const std::string& file);
    void keep(const std::string& file, const std::string& body) const;
    [[nodiscard]] std::vector<std::string> files() const;

    PullSettings settings_;
    PullHttp http_;
    ReceivedLog log_;
    std::map<std::string, std::string> etags_;
    std::stop_source stop_;
};

}  // namespace ftlfeed::sim
