#include "ftl-serve/client_socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ftlfeed::app {
namespace {

constexpr std::uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

/// Nothing is wrong with the connection.
bool is_not_now(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

/// What a signal broke off is called again.
template <typename Call>
ssize_t uninterrupted(Call call) {
    for (;;) {
        const auto result = call();
        if (result >= 0 || errno != EINTR) return result;
    }
}

iovec piece(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

ssize_t send_both(int socket, std::string_view first, std::string_view second) {
    if (second.empty()) return ::send(socket, first.data(), first.size(), MSG_NOSIGNAL);
    std::array<iovec, 2> pieces{piece(first), piece(second)};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

}  // namespace

ClientSocket::ClientSocket(int socket, ReadySet& ready, ReadySet::Owner& owner)
    : socket_(socket), ready_(ready), owner_(owner) {
    const int on = 1;  // Where it is not to be had the answers come a little later.
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!ready_.add(socket_, owner_)) close();
}

void ClientSocket::note(std::uint32_t events) {
    if ((events & kEnd) != 0) has_ended_ = true;
    if ((events & (EPOLLIN | kEnd)) != 0) may_receive_ = true;
}

std::optional<std::size_t> ClientSocket::receive(char* into, std::size_t bytes_max) {
    const auto got = uninterrupted([&] { return ::recv(socket_, into, bytes_max, 0); });
    if (got == 0 || (got < 0 && !is_not_now(errno))) return std::nullopt;
    if (got < 0) {
        may_receive_ = false;
        return 0;
    }
    const auto bytes = static_cast<std::size_t>(got);
    // Less than there was room for: that was all (epoll(7)), and what comes from now on is told. The end was told already.
    if (bytes < bytes_max) may_receive_ = has_ended_;
    return bytes;
}

std::optional<std::size_t> ClientSocket::send(std::string_view first, std::string_view second) {
    const auto taken = uninterrupted([&] { return send_both(socket_, first, second); });
    if (taken >= 0) return static_cast<std::size_t>(taken);
    if (is_not_now(errno)) return 0;
    return std::nullopt;
}

void ClientSocket::end_sending() { ::shutdown(socket_, SHUT_WR); }

void ClientSocket::close() {
    if (socket_ < 0) return;
    ready_.remove(socket_, owner_);
    ::close(std::exchange(socket_, -1));
}

}  // namespace ftlfeed::app
