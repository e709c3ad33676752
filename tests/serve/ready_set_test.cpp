// The ready set and the sockets in it, on pairs of connected sockets.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ftl-serve/client_socket.hpp"
#include "ftl-serve/ready_set.hpp"

using namespace ftlfeed::app;

namespace {

/// The far end of a connection, where a client would be.
class Peer {
public:
    explicit Peer(int socket) : socket_(socket) {}
    ~Peer() { ::close(socket_); }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    void say(const std::string& bytes) const {
        REQUIRE(::send(socket_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    }
    void end_sending() const { ::shutdown(socket_, SHUT_WR); }
    /// What is there now; false when that is the end.
    bool hear(std::size_t& bytes) const {
        std::array<char, 65536> into{};
        const auto got = ::recv(socket_, into.data(), into.size(), MSG_DONTWAIT);
        if (got > 0) bytes += static_cast<std::size_t>(got);
        return got != 0;
    }

private:
    int socket_;
};

/// A client of the set that writes down what it is told.
class Client final : public ReadySet::Owner {
public:
    Client(int end, ReadySet& set) : socket(end, set, *this) {}
    void ready(std::uint32_t events) override {
        told.push_back(events);
        socket.note(events);
        if (then) then();
    }

    ClientSocket socket;
    std::vector<std::uint32_t> told;
    std::function<void()> then;
};

struct World {
    World() { set.begin(); }
    /// A client and its peer.
    Client& connect() {
        std::array<int, 2> ends{};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
        peers.emplace_back(ends[1]);
        return clients.emplace_back(ends[0], set);
    }
    /// Tells all that is to be told now, and forgets that a new socket may be written to.
    void settle() {
        loop.poll();
        for (auto& client : clients) client.told.clear();
    }

    boost::asio::io_context loop;
    ReadySet set{loop};
    std::deque<Peer> peers;
    std::deque<Client> clients;
};

std::optional<std::size_t> receive(Client& client, std::size_t bytes_max) {
    std::string into(bytes_max, '\0');
    return client.socket.receive(into.data(), into.size());
}

}  // namespace

TEST_CASE("serve.ready: what comes is told once and more is told again") {
    World world;
    auto& client = world.connect();
    world.settle();
    world.peers[0].say("one");
    world.loop.poll();
    REQUIRE(client.told.size() == 1);
    CHECK((client.told[0] & EPOLLIN) != 0);
    world.loop.poll();
    CHECK(client.told.size() == 1);
    world.peers[0].say("two");
    world.loop.poll();
    CHECK(client.told.size() == 2);
}

TEST_CASE("serve.ready: however many have news all of them are told") {
    World world;
    constexpr std::size_t kMany = 300;
    for (std::size_t i = 0; i < kMany; ++i) world.connect();
    world.settle();
    for (const auto& peer : world.peers) peer.say("news");
    world.loop.poll();
    for (const auto& client : world.clients) CHECK(client.told.size() == 1);
}

TEST_CASE("serve.ready: who was removed is told nothing though its news came in the same batch") {
    World world;
    auto& one = world.connect();
    auto& other = world.connect();
    world.settle();
    one.then = [&] { other.socket.close(); };
    other.then = [&] { one.socket.close(); };
    for (const auto& peer : world.peers) peer.say("news");
    world.loop.poll();
    CHECK(one.told.size() + other.told.size() == 1);
}

TEST_CASE("serve.ready: a client may end itself while it is told and others go on") {
    World world;
    for (int i = 0; i < 3; ++i) world.connect();
    world.settle();
    auto& mortal = world.clients[1];
    mortal.then = [&] { mortal.socket.close(); };
    for (const auto& peer : world.peers) peer.say("news");
    world.loop.poll();
    for (const auto& client : world.clients) CHECK(client.told.size() == 1);
    CHECK_FALSE(mortal.socket.is_open());
}

TEST_CASE("serve.ready: who asks again is told what is still true after the others") {
    World world;
    auto& greedy = world.connect();
    auto& other = world.connect();
    world.settle();
    std::size_t told_before_other = 0;
    greedy.then = [&] {
        if (greedy.told.size() < 5) greedy.socket.tell_again();
    };
    other.then = [&] { told_before_other = greedy.told.size(); };
    for (const auto& peer : world.peers) peer.say("news");
    world.loop.poll();
    CHECK(greedy.told.size() == 5);
    CHECK(told_before_other <= 1);
}

TEST_CASE("serve.client_socket: a buffer that was not filled says that nothing more is there") {
    World world;
    auto& client = world.connect();
    world.settle();
    CHECK_FALSE(client.socket.may_receive());
    world.peers[0].say("0123456789");
    world.loop.poll();
    CHECK(client.socket.may_receive());
    CHECK(receive(client, 10) == 10);
    CHECK(client.socket.may_receive());
    CHECK(receive(client, 10) == 0);
    CHECK_FALSE(client.socket.may_receive());
    world.peers[0].say("0123456789");
    world.loop.poll();
    CHECK(receive(client, 11) == 10);
    CHECK_FALSE(client.socket.may_receive());
}

TEST_CASE("serve.client_socket: the end is seen behind the last bytes and while something else is awaited") {
    World world;
    auto& client = world.connect();
    world.settle();
    world.peers[0].say("last");
    world.peers[0].end_sending();
    world.loop.poll();
    CHECK(receive(client, 100) == 4);
    CHECK(client.socket.may_receive());
    CHECK_FALSE(receive(client, 100));
    // Its own side is still open.
    CHECK(client.socket.send("answer", "") == 6);
}

TEST_CASE("serve.client_socket: what the socket does not hold is told to go on when the other side has read") {
    World world;
    auto& client = world.connect();
    world.settle();
    const std::string head(1000, 'h');
    const std::string body(4'000'000, 'b');
    auto sent = client.socket.send(head, body).value_or(0);
    CHECK(sent > head.size());
    REQUIRE(sent < head.size() + body.size());
    CHECK(client.socket.send(std::string_view(body).substr(sent - head.size()), "") == 0);
    world.loop.poll();
    CHECK(client.told.empty());
    std::size_t heard = 0;
    while (heard < sent) REQUIRE(world.peers[0].hear(heard));
    world.loop.poll();
    REQUIRE_FALSE(client.told.empty());
    CHECK((client.told.back() & EPOLLOUT) != 0);
    CHECK(client.socket.send(std::string_view(body).substr(sent - head.size()), "").value_or(0) > 0);
}

TEST_CASE("serve.client_socket: a client that is gone is neither read from nor written to") {
    World world;
    auto& client = world.connect();
    world.settle();
    world.peers.clear();
    world.loop.poll();
    CHECK(client.socket.may_receive());
    CHECK_FALSE(client.socket.send("answer", ""));
    CHECK_FALSE(receive(client, 100));
}

TEST_CASE("serve.client_socket: its end closes the connection") {
    World world;
    world.connect();
    world.settle();
    world.clients.clear();
    std::size_t heard = 0;
    CHECK_FALSE(world.peers[0].hear(heard));
    CHECK(heard == 0);
}
