#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "webhook_receiver.hpp"

namespace ftlfeed::sim {

/// Serves a WebhookReceiver over HTTP/1.1 with keep-alive, and misbehaves as its script says.
/// Threads: run() in one; port(), stop() and set_script() from any.
class WebhookServer {
public:
    /// Binds at once. Port 0 takes a free one. Throws std::runtime_error when the address is taken.
    WebhookServer(const WebhookReceiverSettings& settings, const std::string& address, std::uint16_t port);
    ~WebhookServer();
    WebhookServer(const WebhookServer&) = delete;
    WebhookServer& operator=(const WebhookServer&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// Blocks until stop(). Throws std::runtime_error when the disk does not take a line.
    void run();
    void stop();
    void set_script(WebhookScript script);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace ftlfeed::sim
