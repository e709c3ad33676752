#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ftl::test {

/// A TCP relay on 127.0.0.1 before a real server, which cuts a connection where the test says.
/// Threads: thread-safe. It has one thread for itself and one for each connection.
class Relay {
public:
    /// What becomes of a connection when its client sends a certain text.
    enum class Cut {
        kBefore,  ///< The server never sees the bytes.
        kAfter,   ///< The server sees and answers them; the answer is lost.
    };

    explicit Relay(std::uint16_t server_port);
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// From now on: a connection whose client sends `text` ends there, by a reset.
    void cut_at(const std::string& text, Cut cut);
    void cut_nowhere();
    /// Ends all connections; with `refuse`, new ones are dropped as soon as they are accepted, until allow().
    void drop_all(bool refuse);
    void allow();
    /// From now on new connections lead to another server; those that are open stay where they are. As a name does that was
    /// moved at a fail-over.
    void lead_to(std::uint16_t server_port);
    /// Connections accepted so far, the dropped ones too.
    [[nodiscard]] int accepted() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// `uri` with another port.
[[nodiscard]] std::string with_port(const std::string& uri, std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(const std::string& uri);

}  // namespace ftl::test
