#include "support/free_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace ftl::test {

namespace {

bool may_bind(std::uint16_t port) {
    const int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_fd < 0) return false;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = bind(socket_fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(socket_fd);
    return bound;
}

}  // namespace

std::uint16_t free_port() {
    // tools/servers.sh takes its ports from 20000 on.
    constexpr int kLow = 10'000;
    constexpr int kHigh = 19'999;
    constexpr int kAttemptsMax = 1'000;
    std::random_device device;
    std::uniform_int_distribution<int> pick(kLow, kHigh);
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
        const auto port = static_cast<std::uint16_t>(pick(device));
        if (may_bind(port)) return port;
    }
    throw std::runtime_error("no free port between 10000 and 19999");
}

}  // namespace ftl::test
