#include "tcp.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace ftl::test {
namespace {

constexpr int kDeadlineMs = 10'000;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

bool is_ready(int socket, int milliseconds) {
    pollfd ready{socket, POLLIN, 0};
    return ::poll(&ready, 1, milliseconds) > 0;
}

std::runtime_error failure(const std::string& what) {
    return std::runtime_error(errno == ECONNRESET ? "reset" : what + ": " + std::strerror(errno));
}

}  // namespace

TcpSocket& TcpSocket::operator=(TcpSocket&& other) noexcept {
    close();
    socket_ = std::exchange(other.socket_, -1);
    return *this;
}

TcpSocket TcpSocket::connect(std::uint16_t port) {
    TcpSocket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto address = loopback(port);
    if (::connect(made.socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        throw failure("connect");
    }
    return made;
}

void TcpSocket::send(const std::string& bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto count = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count < 0) throw failure("send");
        done += static_cast<std::size_t>(count);
    }
}

std::string TcpSocket::receive(std::size_t most) {
    if (!is_ready(socket_, kDeadlineMs)) throw std::runtime_error("deadline");
    std::string bytes(most, '\0');
    const auto count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0) throw failure("receive");
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
}

std::string TcpSocket::receive_exactly(std::size_t count) {
    std::string bytes;
    while (bytes.size() < count) {
        const auto more = receive(count - bytes.size());
        if (more.empty()) break;
        bytes += more;
    }
    return bytes;
}

std::string TcpSocket::receive_all() {
    std::string bytes;
    for (auto more = receive(); !more.empty(); more = receive()) bytes += more;
    return bytes;
}

bool TcpSocket::has_news(int milliseconds) const { return is_ready(socket_, milliseconds); }

void TcpSocket::end_sending() { ::shutdown(socket_, SHUT_WR); }

void TcpSocket::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

TcpListener::TcpListener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    auto address = loopback(0);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(socket_, raw, size) != 0 || ::listen(socket_, 16) != 0 || ::getsockname(socket_, raw, &size) != 0) {
        throw failure("listen");
    }
    port_ = ntohs(address.sin_port);
}

TcpListener::~TcpListener() { ::close(socket_); }

TcpSocket TcpListener::accept() {
    if (!is_ready(socket_, kDeadlineMs)) throw std::runtime_error("deadline");
    return TcpSocket(::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC));
}

bool TcpListener::has_visitor(int milliseconds) const { return is_ready(socket_, milliseconds); }

HttpAnswer http_get(TcpSocket& socket, const std::string& target, const std::string& headers) {
    socket.send("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n");
    HttpAnswer answer;
    while (answer.head.find("\r\n\r\n") == std::string::npos) {
        const auto byte = socket.receive(1);
        if (byte.empty()) return answer;
        answer.head += byte;
    }
    const std::string key = "\r\nContent-Length: ";
    const auto at = answer.head.find(key);
    if (at == std::string::npos) throw std::runtime_error("no Content-Length in: " + answer.head);
    answer.body = socket.receive_exactly(std::stoul(answer.head.substr(at + key.size())));
    return answer;
}

}  // namespace ftl::test
