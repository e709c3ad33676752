#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ftl::test {

/// One connection of a HandlerServer, byte by byte. Threads: confined to the handler's.
class ServerSide {
public:
    ServerSide(int socket, const std::stop_token& stop) : socket_(socket), stop_(stop) {}

    /// Waits for bytes; false at the end of the stream, or when the test is over.
    bool read_some(std::string& into, std::size_t most = 65536) const;
    /// The head of a request, with its empty line; "" at the end of the stream. What follows stays unread but for
    /// `rest`.
    std::string read_head(std::string& rest) const;
    /// A whole request, as long as Content-Length says. "" at the end of the stream.
    std::string read_request();
    void send(const std::string& bytes) const;
    /// The other side gets a RST.
    void reset();
    /// Reads nothing and says nothing until the test is over or `limit` has passed.
    void hang() const;
    /// Until the other side has closed, or the test is over.
    void wait_for_end() const;
    [[nodiscard]] bool is_over() const { return stop_.stop_requested(); }
    [[nodiscard]] int socket() const { return socket_; }

private:
    int socket_;
    const std::stop_token& stop_;
    std::string ahead_;
};

/// A server on a raw socket of 127.0.0.1: `handler` is called for each connection, one after the other, and says exactly
/// what it likes. The connection is closed after it.
class HandlerServer {
public:
    explicit HandlerServer(std::function<void(ServerSide&)> handler, const std::string& address = "127.0.0.1");
    ~HandlerServer();
    HandlerServer(const HandlerServer&) = delete;
    HandlerServer& operator=(const HandlerServer&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] std::string url(const std::string& path = "/") const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }
    [[nodiscard]] int connections() const { return connections_; }

private:
    void run(const std::stop_token& stop);

    std::function<void(ServerSide&)> handler_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> connections_{0};
    std::jthread thread_;
};

/// An answer with its length.
std::string http_answer(int status, const std::string& headers = "", const std::string& body = "");

/// Runs `work` in a process with a network and an /etc/hosts of its own: `addresses` are those of its one interface
/// beside 127.0.0.1, `hosts` the file. Returns what `work` returned; a text that begins with "cannot" when the system
/// does not allow it, or `work` threw.
std::string in_own_network(const std::vector<std::string>& addresses, const std::string& hosts,
                           const std::function<std::string()>& work);

}  // namespace ftl::test
