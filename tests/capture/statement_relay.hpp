#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ftl::test {

/// A relay before Postgres that reads along what the client sends (PostgreSQL's protocol, version 3) and keeps the text of
/// each statement: what reaches the server, seen from outside. Plain connections only.
class StatementRelay {
public:
    explicit StatementRelay(const std::string& uri) : uri_(uri) {
        std::smatch match;
        if (!std::regex_match(uri, match, std::regex("(postgres(?:ql)?://(?:[^@/]*@)?)([^:/]+):([0-9]+)(/.*)"))) {
            throw std::runtime_error("not a URI with host and port: " + uri);
        }
        server_port_ = static_cast<std::uint16_t>(std::stoi(match[3]));
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        auto address = loopback(0);
        socklen_t size = sizeof(address);
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 16) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("cannot listen");
        }
        relayed_uri_ = match[1].str() + "127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + match[4].str();
        acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_all(stop); });
    }
    ~StatementRelay() {
        acceptor_.request_stop();
        acceptor_.join();
        connections_.clear();
        ::close(listener_);
    }
    StatementRelay(const StatementRelay&) = delete;
    StatementRelay& operator=(const StatementRelay&) = delete;

    [[nodiscard]] const std::string& uri() const { return relayed_uri_; }

    /// The statements since the last call, without those that only begin and end a transaction.
    std::vector<std::string> take() {
        const std::lock_guard lock(mutex_);
        return std::exchange(statements_, {});
    }

    /// The connection ends at the next COMMIT: after it, so that only its answer is lost, or before it.
    enum class Lost { kAnswer, kCommit };
    void lose_next_commit(Lost lost = Lost::kAnswer) {
        lost_ = lost;
        loses_commit_ = true;
    }

private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

    static bool is_ready(int socket) {
        pollfd wait{socket, POLLIN, 0};
        return ::poll(&wait, 1, 20) > 0;
    }

    void accept_all(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (!is_ready(listener_)) continue;
            const int client = ::accept(listener_, nullptr, nullptr);
            const int server = ::socket(AF_INET, SOCK_STREAM, 0);
            const auto address = loopback(server_port_);
            if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
            connections_.emplace_back(
                [this, client, server](const std::stop_token& end) { relay(client, server, end); });
        }
    }

    void relay(int client, int server, const std::stop_token& stop) {
        std::string sent;  // What the client sent and is not read yet.
        bool has_started = false;
        bool is_lost = false;
        while (!stop.stop_requested()) {
            std::array<pollfd, 2> wait{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
            if (::poll(wait.data(), wait.size(), 20) <= 0) continue;
            std::array<char, 65536> buffer{};
            if (wait[0].revents != 0) {
                const auto length = ::read(client, buffer.data(), buffer.size());
                if (length <= 0) break;
                sent.append(buffer.data(), static_cast<std::size_t>(length));
                read_along(sent, has_started, is_lost);
                if (is_lost && lost_ == Lost::kCommit) break;
                if (::write(server, buffer.data(), static_cast<std::size_t>(length)) != length) break;
            }
            if (wait[1].revents != 0) {
                const auto length = ::read(server, buffer.data(), buffer.size());
                if (length <= 0 || is_lost ||
                    ::write(client, buffer.data(), static_cast<std::size_t>(length)) != length)
                    break;
            }
        }
        ::close(client);
        ::close(server);
    }

    static std::uint32_t length_at(const std::string& text, std::size_t at) {
        std::uint32_t length = 0;
        std::memcpy(&length, text.data() + at, sizeof(length));
        return ntohl(length);
    }

    void read_along(std::string& sent, bool& has_started, bool& is_lost) {
        // The first message (start-up, or a request for encryption before it) has no type byte.
        while (!has_started && sent.size() >= 8) {
            const auto length = length_at(sent, 0);
            if (sent.size() < length) return;
            has_started = length_at(sent, 4) == 196'608;
            sent.erase(0, length);
        }
        while (sent.size() >= 5) {
            const auto length = length_at(sent, 1);
            if (sent.size() < length + 1) return;
            if (sent[0] == 'Q') {
                const std::string statement = sent.c_str() + 5;
                if (statement.starts_with("COMMIT") && loses_commit_.exchange(false)) is_lost = true;
                note(statement);
            }
            if (sent[0] == 'P') note(sent.c_str() + 5 + std::strlen(sent.c_str() + 5) + 1);
            sent.erase(0, length + 1);
        }
    }

    void note(const std::string& statement) {
        for (const char* control : {"BEGIN", "COMMIT", "ROLLBACK", "SET "}) {
            if (statement.starts_with(control)) return;
        }
        const std::lock_guard lock(mutex_);
        statements_.push_back(statement);
    }

    std::string uri_;
    std::string relayed_uri_;
    std::uint16_t server_port_ = 0;
    int listener_ = -1;
    std::atomic<bool> loses_commit_ = false;
    std::atomic<Lost> lost_ = Lost::kAnswer;
    std::mutex mutex_;
    std::vector<std::string> statements_;
    std::vector<std::jthread> connections_;
    std::jthread acceptor_;
};

}  // namespace ftl::test
