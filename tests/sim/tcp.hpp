#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ftl::test {

/// A TCP socket of a test, with a deadline on every wait. Threads: confined to one.
class TcpSocket {
public:
    TcpSocket() = default;
    explicit TcpSocket(int socket) : socket_(socket) {}
    ~TcpSocket() { close(); }
    TcpSocket(TcpSocket&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
    TcpSocket& operator=(TcpSocket&& other) noexcept;
    TcpSocket(const TcpSocket&) = delete;
    TcpSocket& operator=(const TcpSocket&) = delete;

    /// Throws std::runtime_error.
    static TcpSocket connect(std::uint16_t port);

    /// Throws std::runtime_error when the bytes do not all go.
    void send(const std::string& bytes);
    /// The next bytes, `most` at most; "" at the end of the stream. Throws std::runtime_error with "reset" when the
    /// other side reset the connection, with "deadline" when nothing comes in time.
    std::string receive(std::size_t most = 65536);
    /// Exactly so many bytes, fewer only at the end of the stream.
    std::string receive_exactly(std::size_t count);
    /// All until the end of the stream.
    std::string receive_all();
    /// True when bytes, the end or a reset are there within `milliseconds`.
    [[nodiscard]] bool has_news(int milliseconds) const;
    /// Ends this direction; the other one stays open.
    void end_sending();
    void close();

private:
    int socket_ = -1;
};

/// Listens on a free port of 127.0.0.1.
class TcpListener {
public:
    TcpListener();
    ~TcpListener();
    TcpListener(const TcpListener&) = delete;
    TcpListener& operator=(const TcpListener&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }
    /// Throws std::runtime_error when nobody comes in time.
    TcpSocket accept();
    [[nodiscard]] bool has_visitor(int milliseconds) const;

private:
    int socket_;
    std::uint16_t port_ = 0;
};

/// An answer of an HTTP/1.1 server.
struct HttpAnswer {
    std::string head;
    std::string body;
};

/// One GET on a connection that stays open. Reads as many bytes as Content-Length says.
HttpAnswer http_get(TcpSocket& socket, const std::string& target, const std::string& headers = "");

}  // namespace ftl::test
