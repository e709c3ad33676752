#include "support/relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace ftl::test {

namespace {

constexpr int kLookMs = 20;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

int connect_to(std::uint16_t port) {
    const int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = loopback(port);
    if (connect(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return handle;
    close(handle);
    return -1;
}

/// Closes so that the other side gets a reset, as from a host that died.
void reset(int handle) {
    const linger at_once{1, 0};
    setsockopt(handle, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(handle);
}

bool send_all(int handle, const char* bytes, std::size_t size) {
    while (size > 0) {
        const auto sent = send(handle, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        size -= static_cast<std::size_t>(sent);
    }
    return true;
}

}  // namespace

class Relay::Impl {
public:
    explicit Impl(std::uint16_t server_port) : server_port_(server_port) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        auto address = loopback(0);
        socklen_t size = sizeof address;
        if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            listen(listener_, 64) != 0 || getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("the relay cannot listen");
        }
        port_ = ntohs(address.sin_port);
        acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
    }

    ~Impl() {
        acceptor_ = {};
        connections_.clear();  // Without the lock, which they take too; nobody adds any more.
        close(listener_);
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void set_cut(std::optional<std::pair<std::string, Cut>> cut) {
        const std::lock_guard lock(mutex_);
        cut_ = std::move(cut);
    }

    void drop_all(bool refuse) {
        refuse_ = refuse;
        ++generation_;
    }

    void allow() { refuse_ = false; }
    void lead_to(std::uint16_t server_port) { server_port_ = server_port; }
    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] int accepted() const { return accepted_; }

private:
    void accept_all(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd look{listener_, POLLIN, 0};
            if (poll(&look, 1, kLookMs) <= 0) continue;
            const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) continue;
            ++accepted_;
            const int server = refuse_ ? -1 : connect_to(server_port_);
            if (server < 0) {
                reset(client);
                continue;
            }
            const std::lock_guard lock(mutex_);
            connections_.emplace_back(
                [this, client, server, generation = generation_.load()](const std::stop_token& end) {
                    relay(client, server, generation, end);
                    reset(client);
                    reset(server);
                });
        }
    }

    void relay(int client, int server, int generation, const std::stop_token& end) {
        bool swallow_answer = false;
        while (!end.stop_requested() && generation == generation_) {
            std::array<pollfd, 2> looks{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
            if (poll(looks.data(), looks.size(), kLookMs) <= 0) continue;
            std::array<char, 65536> bytes{};
            if (looks[0].revents != 0) {
                const auto size = recv(client, bytes.data(), bytes.size(), 0);
                if (size <= 0) return;
                const auto cut = cut_of({bytes.data(), static_cast<std::size_t>(size)});
                if (cut == Cut::kBefore) return;
                swallow_answer = swallow_answer || cut == Cut::kAfter;
                if (!send_all(server, bytes.data(), static_cast<std::size_t>(size))) return;
            }
            if (looks[1].revents != 0) {
                const auto size = recv(server, bytes.data(), bytes.size(), 0);
                if (size <= 0 || swallow_answer) return;
                if (!send_all(client, bytes.data(), static_cast<std::size_t>(size))) return;
            }
        }
    }

    /// Is it here that the connection ends?
    std::optional<Cut> cut_of(std::string_view sent) {
        const std::lock_guard lock(mutex_);
        if (!cut_ || sent.find(cut_->first) == std::string_view::npos) return std::nullopt;
        return cut_->second;
    }

    std::atomic<std::uint16_t> server_port_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<bool> refuse_{false};
    std::atomic<int> generation_{0};
    std::atomic<int> accepted_{0};
    std::mutex mutex_;
    std::optional<std::pair<std::string, Cut>> cut_;
    std::list<std::jthread> connections_;
    std::jthread acceptor_;
};

Relay::Relay(std::uint16_t server_port) : impl_(std::make_unique<Impl>(server_port)) {}
Relay::~Relay() = default;
std::uint16_t Relay::port() const { return impl_->port(); }
void Relay::cut_at(const std::string& text, Cut cut) { impl_->set_cut({{text, cut}}); }
void Relay::cut_nowhere() { impl_->set_cut(std::nullopt); }
void Relay::drop_all(bool refuse) { impl_->drop_all(refuse); }
void Relay::allow() { impl_->allow(); }
void Relay::lead_to(std::uint16_t server_port) { impl_->lead_to(server_port); }
int Relay::accepted() const { return impl_->accepted(); }

std::string with_port(const std::string& uri, std::uint16_t port) {
    const auto authority = uri.find("://") + 3;
    const auto colon = uri.find(':', authority);
    return uri.substr(0, colon + 1) + std::to_string(port) + uri.substr(uri.find('/', authority));
}

std::uint16_t port_of(const std::string& uri) {
    return static_cast<std::uint16_t>(std::stoi(uri.substr(uri.find(':', uri.find("://") + 3) + 1)));
}

}  // namespace ftl::test
