#include "proxy.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"
#include "tcp.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;

namespace {

/// A proxy before a listener of the test, on a thread of its own.
class Relayed {
public:
    explicit Relayed(const char* script)
        : proxy_({"127.0.0.1", 0, "127.0.0.1", listener.port(), 1, ProxyScript::parse(script)}),
          thread_([this] { proxy_.run(); }) {}
    ~Relayed() { proxy_.stop(); }

    TcpSocket connect() { return TcpSocket::connect(proxy_.port()); }
    Proxy& proxy() { return proxy_; }

    TcpListener listener;

private:
    Proxy proxy_;
    std::jthread thread_;
};

std::string error_of(TcpSocket& socket) {
    try {
        (void)socket.receive_all();
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "the end";
}

}  // namespace

TEST_CASE("sim.proxy: without a fault both directions pass whole and each end is passed on") {
    Relayed relayed("");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    const std::string much(300'000, 'x');
    std::jthread sender([&] {
        client.send(much);
        client.end_sending();
    });
    CHECK(server.receive_all() == much);
    server.send("answer");
    server.close();
    CHECK(client.receive_all() == "answer");
}

TEST_CASE("sim.proxy: a delay holds each piece back") {
    Relayed relayed("*: down delay=50 slice=1");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    const auto begun = std::chrono::steady_clock::now();
    server.send("abc");
    CHECK(client.receive() == "a");
    CHECK(client.receive_exactly(2) == "bc");
    CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(150));
}

TEST_CASE("sim.proxy: after its bytes a direction stops and the other goes on") {
    Relayed relayed("*: down stop=3");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    server.send("abcdef");
    CHECK(client.receive_exactly(3) == "abc");
    client.send("up");
    CHECK(server.receive_exactly(2) == "up");
    CHECK_FALSE(client.has_news(100));
}

TEST_CASE("sim.proxy: who writes into a stopped direction is held back and who writes into a swallowing one is not") {
    Relayed relayed("1: up stop=0; 2: up swallow=0");
    const std::string much(32'000'000, 'x');
    auto held = relayed.connect();
    auto server = relayed.listener.accept();
    server.send("hello");
    CHECK(held.receive_exactly(5) == "hello");
    auto free = relayed.connect();
    auto other = relayed.listener.accept();
    free.send(much);
    free.end_sending();
    CHECK_FALSE(other.has_news(100));
}

TEST_CASE("sim.proxy: a half-closed direction ends for its receiver and the other goes on") {
    Relayed relayed("*: down half=4");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    server.send("abcdef");
    CHECK(client.receive_all() == "abcd");
    client.send("still here");
    CHECK(server.receive_exactly(10) == "still here");
}

TEST_CASE("sim.proxy: a close ends both sides after its bytes") {
    Relayed relayed("*: up close=2");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    client.send("ab");
    CHECK(server.receive_all() == "ab");
    CHECK(client.receive_all().empty());
}

TEST_CASE("sim.proxy: a reset reaches both sides after its bytes") {
    Relayed relayed("*: down reset=2");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    server.send("ab");
    CHECK(error_of(client) == "reset");
    CHECK(error_of(server) == "reset");
}

TEST_CASE("sim.proxy: a silent connection is accepted and never reaches the server") {
    Relayed relayed("1: silence");
    auto client = relayed.connect();
    client.send("anybody?");
    CHECK_FALSE(relayed.listener.has_visitor(100));
    CHECK_FALSE(client.has_news(0));
    auto next = relayed.connect();
    auto server = relayed.listener.accept();
    next.send("x");
    CHECK(server.receive() == "x");
}

TEST_CASE("sim.proxy: a new script holds from the next connection on and counts from one") {
    Relayed relayed("*: pass");
    auto first = relayed.connect();
    auto server = relayed.listener.accept();
    relayed.proxy().set_script(ProxyScript::parse("1: down close=0"));
    auto second = relayed.connect();
    CHECK(second.receive_all().empty());
    first.send("x");
    CHECK(server.receive() == "x");
}

TEST_CASE("sim.proxy: a cut resets every open connection") {
    Relayed relayed("");
    auto client = relayed.connect();
    auto server = relayed.listener.accept();
    client.send("x");
    CHECK(server.receive() == "x");
    relayed.proxy().cut();
    CHECK(error_of(client) == "reset");
    CHECK(error_of(server) == "reset");
}

TEST_CASE("sim.proxy: a server that is not there resets the client") {
    std::uint16_t dead = 0;
    {
        const TcpListener gone;
        dead = gone.port();
    }
    Proxy proxy({"127.0.0.1", 0, "127.0.0.1", dead, 1, {}});
    std::jthread thread([&] { proxy.run(); });
    auto client = TcpSocket::connect(proxy.port());
    CHECK(error_of(client) == "reset");
    proxy.stop();
}

TEST_CASE("sim.command: the proxy reads its script again on SIGHUP and cuts on SIGUSR1 and ends on SIGTERM") {
    const TempFolder folder;
    TcpListener listener;
    write_file(folder / "script", "*: pass\n");
    Process proxy({app("ftl-sim").string(), "proxy", "--to", "127.0.0.1:" + std::to_string(listener.port()), "--script",
                   "@" + (folder / "script").string(), "--port-file", (folder / "port").string()});
    REQUIRE(wait_until([&] { return std::filesystem::exists(folder / "port"); }));
    const auto port = static_cast<std::uint16_t>(std::stoi(read_file(folder / "port")));
    auto open = TcpSocket::connect(port);
    auto server = listener.accept();
    open.send("x");
    CHECK(server.receive() == "x");

    write_file(folder / "script", "*: down close=0\n");
    proxy.signal(SIGHUP);
    CHECK(wait_until([&] {
        auto probe = TcpSocket::connect(port);
        return probe.has_news(20);
    }));
    proxy.signal(SIGUSR1);
    CHECK(error_of(open) == "reset");
    CHECK(proxy.terminate() == ProcessEnd{0, std::nullopt});
}
