#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cache/connection.hpp"
#include "cache/loop.hpp"
#include "proxy.hpp"
#include "support/redis.hpp"
#include "support/rng.hpp"

namespace ftl::test {

/// What came of many sessions.
struct SessionCounts {
    int sessions = 0;
    int answered = 0;
    int failed = 0;
    int reconnected = 0;                   ///< Sessions in which the connection came back.
    std::map<std::string, int> end_kinds;  ///< Sessions for each way in which the first connection ended.
};

/// Callers that share a connection to a real Redis through a relay that hurts it. One session follows from one seed: the
/// byte after which the relay ends a direction goes through all bytes of a session as the seeds go on; how it ends, slices,
/// delays and what is asked are drawn. Threads: confined to one.
class FaultySessions {
public:
    FaultySessions();
    ~FaultySessions();
    FaultySessions(const FaultySessions&) = delete;
    FaultySessions& operator=(const FaultySessions&) = delete;

    /// Returns what went wrong, as text; empty when nothing did.
    std::string run(std::uint64_t seed);
    [[nodiscard]] const SessionCounts& counts() const { return counts_; }

private:
    struct Asked;
    using Clock = std::chrono::steady_clock;

    std::string script_of(std::uint64_t seed, Rng& rng);
    void ask_some(ftlfeed::cache::Connection& connection, std::uint64_t seed, Rng& rng);
    std::string judge();

    RedisServer redis_;
    ftlfeed::sim::Proxy proxy_;
    std::jthread proxy_thread_;
    Loop loop_;
    SessionCounts counts_;
    std::vector<std::shared_ptr<Asked>> asked_;
};

}  // namespace ftl::test
