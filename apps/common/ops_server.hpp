#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/readiness.hpp"

namespace ftlfeed::app {

/// HTTP for operators: /healthz (the process lives), /readyz (200 or 503, with a JSON reason for each dependency) and
/// /metrics (Prometheus). On a thread of its own, at most 32 connections at once, 5 s for each request; a slow reader
/// holds up no other. Threads: confined.
class OpsServer {
public:
    /// `address` is `IP:PORT` or `[IPv6]:PORT`; port 0 takes a free one. Throws core::InvalidInput when it cannot be read,
    /// core::Failure when it cannot be taken. `readiness` is borrowed.
    OpsServer(const std::string& address, const Readiness& readiness);
    ~OpsServer();
    OpsServer(const OpsServer&) = delete;
    OpsServer& operator=(const OpsServer&) = delete;

    [[nodiscard]] std::uint16_t port() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Writes `port` to `path` as one line, by rename: a reader sees all of it or nothing. Throws core::InvalidInput.
void write_port_file(const std::string& path, std::uint16_t port);

}  // namespace ftlfeed::app
