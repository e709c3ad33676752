#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/temp_folder.hpp"

namespace ftl::test {

/// A Redis of the test's own on 127.0.0.1, in a folder of its own. Threads: confined to one thread, with which it dies.
class RedisServer {
public:
    /// `options` as redis-server takes them: `{"--maxmemory", "1mb"}`. Waits until it takes connections.
    explicit RedisServer(std::vector<std::string> options = {});

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
    /// `redis://127.0.0.1:PORT`.
    [[nodiscard]] std::string uri() const;
    /// What redis-cli prints for these words, without its last line break; its errors too.
    std::string cli(const std::vector<std::string>& words) const;

    /// As kill -9. start() brings it back on its port.
    void kill() { process_->kill(); }
    void start();
    /// It hangs, with its connections open, until go_on().
    void stop() { process_->signal(SIGSTOP); }
    void go_on() { process_->signal(SIGCONT); }

private:
    [[nodiscard]] bool has_started();

    TempFolder folder_;
    std::vector<std::string> options_;
    std::uint16_t port_ = 0;
    std::unique_ptr<Process> process_;
};

/// The port of the Redis that all tests share ($FTL_TEST_REDIS, on 127.0.0.1): its keys need names of their own.
[[nodiscard]] std::uint16_t shared_redis_port();

/// A word that no other test uses: `t1a2b3c…`.
[[nodiscard]] std::string unique_word();

}  // namespace ftl::test
