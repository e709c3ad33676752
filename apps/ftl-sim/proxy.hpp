#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "proxy_script.hpp"

namespace ftlfeed::sim {

struct ProxySettings {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  ///< 0 takes a free one.
    std::string to_host;
    std::uint16_t to_port = 0;
    std::uint64_t seed = 1;
    ProxyScript script;
};

/// A TCP relay that hurts connections as its script says.
/// Threads: run() in one; all else from any.
class Proxy {
public:
    /// Binds at once. Throws std::runtime_error.
    explicit Proxy(const ProxySettings& settings);
    ~Proxy();
    Proxy(const Proxy&) = delete;
    Proxy& operator=(const Proxy&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// Blocks until stop().
    void run();
    void stop();

    /// For connections accepted from now on; their count begins again at 1.
    void set_script(ProxyScript script);
    /// Resets every open connection.
    void cut();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ftlfeed::sim
