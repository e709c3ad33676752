#include "pull_http.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <utility>

#include "command.hpp"
#include "failure.hpp"

namespace ftlfeed::sim {
namespace {

constexpr int kLimitSeconds = 10;
constexpr std::size_t kHeadBytesMax = 65'536;
constexpr std::size_t kBodyBytesMax = std::size_t{256} << 20U;
constexpr std::string_view kScheme = "http://";

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

/// Status and fields of a head with its empty line.
PulledAnswer parse_head(const std::string& head) {
    PulledAnswer answer;
    if (!head.starts_with("HTTP/1.1 ") || head.size() < 12) throw std::runtime_error("no answer of HTTP/1.1");
    answer.status = std::atoi(head.c_str() + 9);
    for (auto at = head.find("\r\n") + 2; at + 2 < head.size();) {
        const auto end = head.find("\r\n", at);
        const auto colon = head.find(": ", at);
        if (colon == std::string::npos || colon > end) throw std::runtime_error("a line of the head has no colon");
        answer.fields[lower(head.substr(at, colon - at))] = head.substr(colon + 2, end - colon - 2);
        at = end + 2;
    }
    return answer;
}

}  // namespace

std::string PulledAnswer::field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
}

PullHttp::PullHttp(const std::string& base) {
    auto rest = base.starts_with(kScheme) ? base.substr(kScheme.size()) : "";
    if (const auto slash = rest.find('/'); slash != std::string::npos) {
        path_ = rest.substr(slash);
        rest.resize(slash);
        if (path_.back() == '/') path_.pop_back();
    }
    const auto colon = rest.rfind(':');
    if (colon == std::string::npos || colon + 1 == rest.size()) throw UsageError("--url is http://HOST:PORT");
    host_ = rest.substr(0, colon);
    port_ = rest.substr(colon + 1);
}

PulledAnswer PullHttp::get(const std::string& target, const std::string& fields) {
    try {
        if (socket_ < 0) connect();
        send("GET " + path_ + target + " HTTP/1.1\r\nHost: " + host_ + ":" + port_ + "\r\n" + fields + "\r\n");
        auto answer = read_answer();
        if (answer.field("connection") == "close") close();
        return answer;
    } catch (const std::runtime_error&) {
        close();
        throw;
    }
}

void PullHttp::connect() {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* raw = nullptr;
    if (const int error = getaddrinfo(host_.c_str(), port_.c_str(), &hints, &raw); error != 0) {
        throw std::runtime_error("cannot look up " + host_ + ": " + gai_strerror(error));
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, &freeaddrinfo);
    // A name may have addresses of two families, and the server listen on one of them.
    for (const addrinfo* address = found.get(); address; address = address->ai_next) {
        close();
        socket_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const timeval limit{kLimitSeconds, 0};
        setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        if (::connect(socket_, address->ai_addr, address->ai_addrlen) == 0) return;
    }
    throw system_failure("cannot connect to " + host_ + ":" + port_);
}

void PullHttp::close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
    input_.clear();
}

void PullHttp::send(const std::string& bytes) const {
    for (std::size_t done = 0; done < bytes.size();) {
        const auto count = ::send(socket_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
        if (count < 0) throw system_failure("cannot send");
        done += static_cast<std::size_t>(count);
    }
}

void PullHttp::receive(std::size_t bytes) {
    while (input_.size() < bytes) {
        char chunk[65'536];
        const auto count = ::recv(socket_, chunk, sizeof chunk, 0);
        if (count < 0) throw system_failure("no answer");
        if (count == 0) throw std::runtime_error("the connection ended within the answer");
        input_.append(chunk, static_cast<std::size_t>(count));
    }
}

PulledAnswer PullHttp::read_answer() {
    auto end = input_.find("\r\n\r\n");
    while (end == std::string::npos) {
        if (input_.size() > kHeadBytesMax) throw std::runtime_error("the head does not end");
        receive(input_.size() + 1);
        end = input_.find("\r\n\r\n");
    }
    auto answer = parse_head(input_.substr(0, end + 2) + "\r\n");
    input_.erase(0, end + 4);
    if (answer.status == 304) return answer;
    const auto length = answer.field("content-length");
    if (length.empty()) throw std::runtime_error("the answer has no Content-Length");
    const auto bytes = std::strtoull(length.c_str(), nullptr, 10);
    if (bytes > kBodyBytesMax) throw std::runtime_error("the body is too large");
    receive(bytes);
    answer.body = input_.substr(0, bytes);
    input_.erase(0, bytes);
    return answer;
}

}  // namespace ftlfeed::sim
