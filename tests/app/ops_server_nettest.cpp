#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/metrics.hpp>
#include <ftlfeed/net/http_client.hpp>
#include <vector>

#include "common/ops_server.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;

namespace {

struct Fixture {
    app::Readiness readiness;
    app::OpsServer server{"127.0.0.1:0", readiness};
    net::HttpClient client{net::HttpLimits{}};

    net::HttpResponse get(const std::string& path) {
        return client.get("http://127.0.0.1:" + std::to_string(server.port()) + path, {});
    }
};

/// A connection that says `text` and then nothing more.
class Mute {
public:
    Mute(std::uint16_t port, const std::string& text) : handle_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        REQUIRE(connect(handle_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
        send(handle_, text.data(), text.size(), MSG_NOSIGNAL);
    }
    ~Mute() { close(handle_); }
    Mute(const Mute&) = delete;
    Mute& operator=(const Mute&) = delete;
    /// All that comes until the server closes.
    [[nodiscard]] std::string read_all() const {
        std::string text;
        char bytes[4096];
        for (auto size = recv(handle_, bytes, sizeof bytes, 0); size > 0;
             size = recv(handle_, bytes, sizeof bytes, 0)) {
            text.append(bytes, static_cast<std::size_t>(size));
        }
        return text;
    }

private:
    int handle_;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "app.ops: healthz lives and readyz follows what answers and metrics are Prometheus text") {
    CHECK(get("/healthz").status == 200);
    readiness.set_waiting("postgres", "connection refused");
    const auto waiting = get("/readyz?x=1");
    CHECK(waiting.status == 503);
    CHECK(waiting.headers.at("content-type") == "application/json");
    CHECK(waiting.body == readiness.json());
    readiness.set_ready("postgres");
    CHECK(get("/readyz").status == 200);
    core::counter("ftl_ops_test_total", "Test").increment(3);
    CHECK(get("/metrics").body.find("ftl_ops_test_total 3\n") != std::string::npos);
    CHECK(get("/").status == 404);
}

TEST_CASE_FIXTURE(Fixture, "app.ops: only GET and HEAD are answered and HEAD without a body") {
    CHECK(Mute(server.port(), "DELETE /healthz HTTP/1.1\r\nHost: a\r\n\r\n").read_all().starts_with("HTTP/1.1 405 "));
    const auto head = Mute(server.port(), "HEAD /healthz HTTP/1.1\r\nHost: a\r\n\r\n").read_all();
    CHECK(head.starts_with("HTTP/1.1 200 "));
    CHECK(head.ends_with("\r\n\r\n"));
}

TEST_CASE_FIXTURE(Fixture, "app.ops: nonsense and endless headers are closed without harm") {
    CHECK(Mute(server.port(), "hello\r\n\r\n").read_all() == "");
    CHECK(Mute(server.port(), "GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x')).read_all() == "");
    CHECK(get("/healthz").body == "ok\n");
}

TEST_CASE_FIXTURE(Fixture, "app.ops: connections that say nothing hold up nobody and are limited in number") {
    std::vector<std::unique_ptr<Mute>> mutes;
    for (int i = 0; i < 20; ++i) mutes.push_back(std::make_unique<Mute>(server.port(), "GET /heal"));
    CHECK(get("/healthz").status == 200);
    for (int i = 0; i < 20; ++i) mutes.push_back(std::make_unique<Mute>(server.port(), "GET /heal"));
    // The 33rd and those behind it were closed at once; the first go when their 5 s are over.
    CHECK(mutes.back()->read_all() == "");
    mutes.clear();
    CHECK(ftl::test::wait_until([&] {
        try {
            return get("/healthz").status == 200;
        } catch (const core::Failure&) {
            return false;
        }
    }));
}

TEST_CASE("app.ops: an address that cannot be read or taken says so") {
    const app::Readiness readiness;
    for (const char* bad :
         {"", "127.0.0.1", "localhost:80", "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:80x", ":80"}) {
        CAPTURE(bad);
        CHECK_THROWS_AS(app::OpsServer(bad, readiness), core::InvalidInput);
    }
    const app::OpsServer first("127.0.0.1:0", readiness);
    CHECK_THROWS_AS(app::OpsServer("127.0.0.1:" + std::to_string(first.port()), readiness), core::Failure);
}

TEST_CASE("app.ops: the port's file holds it and a folder that is not there is named") {
    const ftl::test::TempFolder folder;
    app::write_port_file(folder / "port", 4711);
    CHECK(ftl::test::read_file(folder / "port") == "4711\n");
    CHECK_THROWS_AS(app::write_port_file(folder / "no" / "port", 1), core::InvalidInput);
}
