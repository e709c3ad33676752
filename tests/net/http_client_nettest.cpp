#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/net/http_client.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support/free_port.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using core::Failure;
using std::chrono::milliseconds;

namespace {

/// A server on a raw socket that says exactly what it was told to, byte by byte, and then closes, or stays silent.
class RawServer {
public:
    enum class Then { kClose, kStaySilent, kServeAgain };

    RawServer(std::string answer, Then then) : answer_(std::move(answer)), then_(then) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
            getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("cannot listen");
        }
        port_ = ntohs(address.sin_port);
        thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    }
    ~RawServer() {
        thread_ = {};
        close(listener_);
    }
    RawServer(const RawServer&) = delete;
    RawServer& operator=(const RawServer&) = delete;

    [[nodiscard]] std::string url(const std::string& path = "/") const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }
    [[nodiscard]] int connections() const { return connections_; }
    [[nodiscard]] std::string last_request() {
        const std::lock_guard lock(mutex_);
        return last_request_;
    }

private:
    static bool wait_readable(int handle, const std::stop_token& stop) {
        pollfd look{handle, POLLIN, 0};
        while (!stop.stop_requested()) {
            if (poll(&look, 1, 10) > 0) return true;
        }
        return false;
    }

    void run(const std::stop_token& stop) {
        while (wait_readable(listener_, stop)) {
            const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            ++connections_;
            while (serve(client, stop) && then_ == Then::kServeAgain) {
            }
            // Silent until the client has gone, or the test is over.
            std::array<char, 1> byte{};
            while (then_ == Then::kStaySilent && wait_readable(client, stop) && recv(client, byte.data(), 1, 0) > 0) {
            }
            close(client);
        }
    }

    bool serve(int client, const std::stop_token& stop) {
        std::string request;
        while (request.find("\r\n\r\n") == std::string::npos) {
            std::array<char, 4096> bytes{};
            if (!wait_readable(client, stop)) return false;
            const auto size = recv(client, bytes.data(), bytes.size(), 0);
            if (size <= 0) return false;
            request.append(bytes.data(), static_cast<std::size_t>(size));
        }
        {
            const std::lock_guard lock(mutex_);
            last_request_ = request;
        }
        std::string_view rest = answer_;
        while (!rest.empty()) {
            const auto sent = send(client, rest.data(), std::min<std::size_t>(rest.size(), 65536), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            rest.remove_prefix(static_cast<std::size_t>(sent));
        }
        return true;
    }

    std::string answer_;
    Then then_;
    int listener_ = -1;
    int port_ = 0;
    std::atomic<int> connections_{0};
    std::mutex mutex_;
    std::string last_request_;
    std::jthread thread_;
};

using Then = RawServer::Then;

std::string answer(const std::string& body, const std::string& headers = "", int status = 200) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           headers + "\r\n" + body;
}

net::HttpLimits fast(milliseconds whole = milliseconds(5000)) { return {milliseconds(2000), whole, 1 << 20}; }

/// The Failure that a GET of what `server` says ends in.
Failure failure_of(RawServer& server, net::HttpLimits limits = fast(), const std::string& path = "/") {
    net::HttpClient client(limits);
    try {
        static_cast<void>(client.get(server.url(path), {}));
    } catch (const Failure& failure) {
        return failure;
    }
    throw std::runtime_error("it was taken for an answer");
}

}  // namespace

TEST_CASE("net.http_client: status and headers and body arrive as they were sent") {
    RawServer server(answer("{\"data\":[]}", "X-Odd:  a b \r\nx-odd: last\r\n", 422), Then::kClose);
    net::HttpClient client(fast());
    const auto response = client.get(server.url("/v3?x=1"), {"Authorization: secret"});
    CHECK(response.status == 422);
    CHECK(response.body == "{\"data\":[]}");
    CHECK(response.headers.at("x-odd") == "last");
    const auto request = server.last_request();
    CHECK(request.starts_with("GET /v3?x=1 HTTP/1.1\r\n"));
    CHECK(request.find("Authorization: secret\r\n") != std::string::npos);
    CHECK(request.find("Accept-Encoding: gzip\r\n") != std::string::npos);
}

TEST_CASE("net.http_client: one connection serves many requests and a dead one is opened again") {
    RawServer server(answer("ok"), Then::kServeAgain);
    net::HttpClient client(fast());
    for (int i = 0; i < 3; ++i) CHECK(client.get(server.url(), {}).body == "ok");
    CHECK(server.connections() == 1);
    RawServer closing(answer("ok"), Then::kClose);
    for (int i = 0; i < 3; ++i) CHECK(client.get(closing.url(), {}).body == "ok");
    CHECK(closing.connections() == 3);
}

TEST_CASE("B49: a body that is cut short is no answer at whichever byte it was cut") {
    const auto whole = answer(std::string(2000, 'x'));
    for (const std::size_t missing : {1U, 1000U, 1999U, 2000U}) {
        RawServer server(whole.substr(0, whole.size() - missing), Then::kClose);
        CHECK(failure_of(server).kind() == Failure::Kind::kUnavailable);
    }
    RawServer chunked("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", Then::kClose);
    CHECK(failure_of(chunked).kind() == Failure::Kind::kUnavailable);
}

TEST_CASE("B49: a gzip body that ends too early is no answer though its length fits") {
    const auto packed = core::gzip(std::string(1000, 'x') + "events" + std::string(1000, 'y'));
    {
        RawServer server(answer(packed, "Content-Encoding: gzip\r\n"), Then::kClose);
        net::HttpClient client(fast());
        CHECK(client.get(server.url(), {}).body.size() == 2006);
    }
    for (const auto size : {packed.size() * 6 / 10, packed.size() - 8, packed.size() - 1}) {
        RawServer server(answer(packed.substr(0, size), "Content-Encoding: gzip\r\n"), Then::kClose);
        CHECK(failure_of(server).may_retry());
        // Closed at its end without a length: libcurl by itself would call it whole.
        RawServer open_end("HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\n\r\n" + packed.substr(0, size), Then::kClose);
        CHECK(failure_of(open_end).may_retry());
    }
}

TEST_CASE("net.http_client: a coding that nobody asked for is no answer") {
    RawServer server(answer("xyz", "Content-Encoding: br\r\n"), Then::kClose);
    CHECK(std::string(failure_of(server).what()).find("coding that nobody asked for: br") != std::string::npos);
    RawServer plain(answer("xyz", "Content-Encoding: identity\r\n"), Then::kClose);
    net::HttpClient client(fast());
    CHECK(client.get(plain.url(), {}).body == "xyz");
}

TEST_CASE("net.http_client: HTML is an answer like any other for the caller to judge") {
    RawServer server(answer("<html>502</html>", "Content-Type: text/html\r\n", 502), Then::kClose);
    net::HttpClient client(fast());
    const auto response = client.get(server.url(), {});
    CHECK(response.status == 502);
    CHECK(response.headers.at("content-type") == "text/html");
}

TEST_CASE("net.http_client: nothing and nonsense are no answers") {
    for (const char* said : {"", "hello\r\n", "HTTP/1.1 200 X\r\n", "HTTP/1.1 200 X\r\nContent-Length: 5"}) {
        CAPTURE(said);
        RawServer server(said, Then::kClose);
        CHECK(failure_of(server).kind() == Failure::Kind::kUnavailable);
    }
}

TEST_CASE("net.http_client: a server that falls silent holds the call no longer than its limit") {
    const auto whole = answer(std::string(2000, 'x'));
    for (const auto& said : {std::string(), whole.substr(0, 20), whole.substr(0, whole.size() - 1)}) {
        RawServer server(said, Then::kStaySilent);
        const auto begin = core::Clock::real().steady_now();
        const auto failure = failure_of(server, fast(milliseconds(200)));
        const auto took = core::Clock::real().steady_now() - begin;
        CHECK(failure.native_code() == "CURLE_28");
        CHECK(took >= milliseconds(190));
        CHECK(took < milliseconds(5000));
    }
}

TEST_CASE("net.http_client: a body beyond the limit is refused whether packed or plain or without end") {
    RawServer plain(answer(std::string((1 << 20) + 1, 'x')), Then::kClose);
    CHECK(failure_of(plain).kind() == Failure::Kind::kPermanent);
    RawServer endless("HTTP/1.1 200 X\r\n\r\n" + std::string(3 << 20, 'x'), Then::kStaySilent);
    CHECK(failure_of(endless).kind() == Failure::Kind::kPermanent);
    RawServer bomb(answer(core::gzip(std::string((1 << 20) + 1, '\0')), "Content-Encoding: gzip\r\n"), Then::kClose);
    static_cast<void>(failure_of(bomb));
    RawServer fits(answer(std::string(1 << 20, 'x')), Then::kClose);
    net::HttpClient client(fast());
    CHECK(client.get(fits.url(), {}).body.size() == 1 << 20);
}

TEST_CASE("net.http_client: a redirect is an answer and not followed") {
    RawServer elsewhere(answer("there"), Then::kClose);
    RawServer server(answer("", "Location: " + elsewhere.url() + "\r\n", 302), Then::kClose);
    net::HttpClient client(fast());
    CHECK(client.get(server.url(), {}).status == 302);
    CHECK(elsewhere.connections() == 0);
}

TEST_CASE("net.http_client: a proxy of the environment is not used") {
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    RawServer server(answer("direct"), Then::kClose);
    net::HttpClient client(fast());
    CHECK(client.get(server.url(), {}).body == "direct");
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
}

TEST_CASE("net.http_client: only http and https are spoken") {
    net::HttpClient client(fast());
    for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "", "http://"}) {
        CAPTURE(url);
        try {
            static_cast<void>(client.get(url, {}));
            FAIL("it was taken");
        } catch (const Failure& failure) {
            CHECK(failure.kind() == Failure::Kind::kPermanent);
        }
    }
}

TEST_CASE("net.http_client: a port where nobody listens fails at once and may be retried") {
    net::HttpClient client(fast());
    try {
        static_cast<void>(client.get("http://127.0.0.1:" + std::to_string(ftl::test::free_port()) + "/", {}));
        FAIL("it was taken");
    } catch (const Failure& failure) {
        CHECK(failure.native_code() == "CURLE_7");
        CHECK(failure.may_retry());
    }
}

TEST_CASE("net.http_client: neither query nor user nor header gets into a failure") {
    RawServer server("", Then::kClose);
    net::HttpClient client(fast());
    const auto url = "http://me:hunter2@" + server.url("/v3/x?api_token=hunter2#hunter2").substr(7);
    try {
        static_cast<void>(client.get(url, {"Authorization: hunter2"}));
        FAIL("it was taken");
    } catch (const Failure& failure) {
        CHECK(std::string(failure.what()).find("hunter2") == std::string::npos);
        CHECK(std::string(failure.what()).find("/v3/x") != std::string::npos);
    }
    for (const auto& header : {std::string("X: a\r\nHost: evil"), std::string("X: a\nb"), std::string("X: a\0b", 6)}) {
        CHECK_THROWS_AS(static_cast<void>(client.get(server.url(), {header})), core::InvalidInput);
    }
}

TEST_CASE("net.http_client: headers of an answer before the answer do not count") {
    RawServer server("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n" + answer("ok"), Then::kClose);
    net::HttpClient client(fast());
    const auto response = client.get(server.url(), {});
    CHECK(response.status == 200);
    CHECK(response.headers.count("x-early") == 0);
}

TEST_CASE("net.http_client: a chunked answer with trailers is whole") {
    RawServer server("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\nX-Sum: 1\r\n\r\n",
                     Then::kClose);
    net::HttpClient client(fast());
    CHECK(client.get(server.url(), {}).body == "abcde");
}
