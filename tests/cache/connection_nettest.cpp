// Servers that do what no Redis should: they are played by a socket of the test.
#include "cache/connection.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cache/loop.hpp"
#include "sim/tcp.hpp"
#include "support/free_port.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using cache::Command;
using cache::Connection;
using cache::ConnectionSettings;
using std::chrono::milliseconds;

namespace {

const std::string kGreeting =
    "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$7\r\nftlfeed\r\n*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n";
const std::string kWelcome = "+OK\r\n$12\r\nrun_id:abc\r\n\r\n";

ConnectionSettings to(const TcpListener& listener) {
    ConnectionSettings settings;
    settings.port = listener.port();
    settings.backoff_first = milliseconds(1);
    settings.backoff_max = milliseconds(20);
    return settings;
}

/// Takes the next connection and answers its greeting.
TcpSocket welcomed(TcpListener& listener) {
    auto server = listener.accept();
    REQUIRE(server.receive_exactly(kGreeting.size()) == kGreeting);
    server.send(kWelcome);
    return server;
}

}  // namespace

TEST_CASE("cache.connection: what is asked within one turn of the loop goes out in one write") {
    TcpListener listener;
    LoopConnection connection(to(listener));
    auto server = welcomed(listener);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    std::string wanted;
    std::vector<Answer> answers;
    connection.loop().run([&] {
        for (int i = 0; i < 100; ++i) {
            const auto command = Command::reading({"HGET", "feed:d:" + std::to_string(i), "v"});
            wanted += command.bytes();
            answers.push_back(connection.ask_inside(command, milliseconds(5000)));
        }
    });
    // One segment on loopback holds it all: whatever comes by one receive was sent by one write.
    CHECK(server.receive() == wanted);
    for (int i = 0; i < 100; ++i) server.send(":" + std::to_string(i) + "\r\n");
    for (auto& answer : answers) CHECK_NOTHROW(text_of(std::move(answer)));
}

TEST_CASE("cache.connection: what is asked while a write is under way is not handed to the socket before its end") {
    TcpListener listener;
    LoopConnection connection(to(listener));
    auto server = welcomed(listener);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    // More than the buffers on the way hold: this write ends only when the server reads.
    const std::string much(64'000'000, 'x');
    const auto ask = [&](const Command& command) {
        return connection.loop().run(
            [&] { return connection.inside().request(command, milliseconds(60'000), [](const auto&) {}); });
    };
    const auto is_written = [&](const Connection::Written& token) {
        return connection.loop().run([&] { return *token; });
    };
    const auto first = ask(Command::changing({"SET", "a", much}));
    REQUIRE(wait_until([&] { return is_written(first); }));
    const auto second = ask(Command::reading({"GET", "a"}));
    CHECK_FALSE(is_written(second));
    static_cast<void>(server.receive_exactly(Command::changing({"SET", "a", much}).bytes().size()));
    CHECK(server.receive() == Command::reading({"GET", "a"}).bytes());
    CHECK(is_written(second));
}

TEST_CASE("cache.connection: garbage in the place of an answer ends the connection and no answer is made of it") {
    for (const std::string garbage : {"HTTP/1.1 400 Bad Request\r\n\r\n", "$-7\r\n", "*3\r\n:1\r\n?\r\n", "\r\n"}) {
        CAPTURE(garbage);
        TcpListener listener;
        LoopConnection connection(to(listener));
        auto server = welcomed(listener);
        REQUIRE(wait_until([&] { return connection.is_up(); }));
        auto first = connection.ask(Command::reading({"GET", "a"}));
        auto second = connection.ask(Command::reading({"GET", "b"}));
        server.send(garbage);
        CHECK(failure_of(std::move(first)).native_code() == "PROTOCOL");
        CHECK(failure_of(std::move(second)).native_code() == "PROTOCOL");
        server.close();
        auto next = welcomed(listener);
        CHECK(wait_until([&] { return connection.is_up(); }));
    }
}

TEST_CASE("cache.connection: an answer that nobody asked for ends the connection") {
    TcpListener listener;
    LoopConnection connection(to(listener));
    auto server = welcomed(listener);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    server.send("$5\r\nstray\r\n");
    auto next = welcomed(listener);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    auto answer = connection.ask(Command::reading({"GET", "a"}));
    static_cast<void>(next.receive());
    next.send("$4\r\nmine\r\n");
    CHECK(text_of(std::move(answer)) == "mine");
}

TEST_CASE("cache.connection: an answer cut at its last byte is none") {
    TcpListener listener;
    LoopConnection connection(to(listener));
    auto server = welcomed(listener);
    REQUIRE(wait_until([&] { return connection.is_up(); }));
    auto answer = connection.ask(Command::reading({"GET", "a"}));
    static_cast<void>(server.receive());
    server.send("$4\r\nmine\r");
    server.close();
    CHECK(failure_of(std::move(answer)).connection_lost());
}

TEST_CASE(
    "cache.connection: a server that takes the connection and is silent is given up at the limit and tried again") {
    TcpListener listener;
    auto settings = to(listener);
    settings.connect_timeout = milliseconds(50);
    LoopConnection connection(settings);
    auto silent = listener.accept();
    auto server = welcomed(listener);
    CHECK(wait_until([&] { return connection.is_up(); }));
    CHECK(connection.server().connections == 1);
}

TEST_CASE("cache.connection: it looks its host up") {
    TcpListener listener;
    auto settings = to(listener);
    settings.host = "localhost";
    LoopConnection connection(settings);
    auto server = welcomed(listener);
    CHECK(wait_until([&] { return connection.is_up(); }));
}

TEST_CASE("cache.connection: at a dead port it goes on to try and tells each failure") {
    ConnectionSettings settings;
    settings.port = free_port();
    settings.backoff_first = milliseconds(1);
    settings.backoff_max = milliseconds(5);
    std::atomic<int> downs{0};
    LoopConnection connection(settings, {{}, [&](const auto&) { ++downs; }});
    CHECK(wait_until([&] { return downs >= 100; }));
    CHECK(connection.server().connections == 0);
}
