#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "provider.hpp"

namespace ftlfeed::sim {

/// Serves a Provider over HTTP/1.1 with keep-alive, gzip where the reader accepts it.
/// Threads: run() in one; port() and stop() from any.
class ProviderServer {
public:
    /// Binds at once: requests that come before run() wait. Port 0 takes a free one.
    /// Throws std::runtime_error when the address is taken.
    ProviderServer(Provider provider, const std::string& address, std::uint16_t port);
    ~ProviderServer();
    ProviderServer(const ProviderServer&) = delete;
    ProviderServer& operator=(const ProviderServer&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// Blocks until stop().
    void run();
    void stop();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ftlfeed::sim
