#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/net/http_post.hpp>

#include "support/free_port.hpp"
#include "support/handler_server.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using core::Failure;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

net::PostLimits quick(milliseconds bytes = milliseconds(3000), milliseconds reply = milliseconds(3000)) {
    net::PostLimits limits;
    limits.connect = milliseconds(2000);
    limits.bytes = bytes;
    limits.reply = reply;
    limits.bytes_per_second_min = 0;
    return limits;
}

net::PostHooks open_hooks() {
    return {[](const std::string&) { return true; }, [] { return core::Deadline::never(); }, [] { return true; }};
}

net::PostRequest to(const std::string& url, std::string_view body = "body", std::vector<std::string> headers = {}) {
    return {url, "the receiver", std::move(headers), body};
}

/// The Failure that a POST ends in.
Failure failure_of(net::HttpPoster& poster, const net::PostRequest& request, const net::PostHooks& hooks) {
    try {
        const auto answer = poster.post(request, hooks);
        throw std::runtime_error(answer ? "it was answered" : "it was withheld");
    } catch (const Failure& failure) {
        return failure;
    }
}
Failure failure_of(const HandlerServer& server, net::PostLimits limits = quick(), std::string_view body = "body") {
    net::HttpPoster poster(std::move(limits));
    return failure_of(poster, to(server.url(), body), open_hooks());
}

bool says(const Failure& failure, const std::string& text) {
    return std::string(failure.what()).find(text) != std::string::npos;
}

/// Larger than what the two kernels buffer between them.
std::string large_body() { return std::string(std::size_t{32} << 20, 'x'); }

}  // namespace

TEST_CASE("net.http_post: body and headers arrive as given and the answer comes back") {
    std::string seen;
    HandlerServer server([&](ServerSide& side) {
        seen = side.read_request();
        side.send(http_answer(201, "X-Odd:  a b \r\n", "thanks"));
    });
    net::HttpPoster poster(quick());
    const auto answer =
        poster.post(to(server.url("/in?x=1"), std::string_view("a\0b", 3), {"webhook-id: 1-2"}), open_hooks());
    REQUIRE(answer);
    CHECK(answer->status == 201);
    CHECK(answer->body == "thanks");
    CHECK(answer->headers.at("x-odd") == "a b");
    CHECK(seen.starts_with("POST /in?x=1 HTTP/1.1\r\n"));
    CHECK(seen.find("webhook-id: 1-2\r\n") != std::string::npos);
    CHECK(seen.find("Expect:") == std::string::npos);
    CHECK(seen.ends_with(std::string("\r\n\r\na\0b", 7)));
}

TEST_CASE("net.http_post: one connection serves many posts and a dead one is opened again") {
    HandlerServer server([](ServerSide& side) {
        while (!side.read_request().empty()) side.send(http_answer(204));
    });
    HandlerServer closing([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.send(http_answer(204));
    });
    net::HttpPoster poster(quick());
    for (int i = 0; i < 5; ++i) CHECK(poster.post(to(server.url()), open_hooks())->status == 204);
    CHECK(server.connections() == 1);
    for (int i = 0; i < 5; ++i) CHECK(poster.post(to(closing.url()), open_hooks())->status == 204);
    CHECK(closing.connections() == 5);
}

TEST_CASE("net.http_post: a connection that was idle for longer than its limit is not used again") {
    HandlerServer server([](ServerSide& side) {
        if (side.read_request().empty()) return;
        side.send(http_answer(204));
    });
    auto limits = quick();
    limits.idle = std::chrono::seconds(0);
    net::HttpPoster poster(limits);
    for (int i = 0; i < 2; ++i) CHECK(poster.post(to(server.url()), open_hooks())->status == 204);
    CHECK(server.connections() == 2);
}

TEST_CASE("net.http_post: an answer that was lost after the last byte is in doubt and one before it is not") {
    const auto body = large_body();
    HandlerServer silent([](ServerSide& side) {
        if (!side.read_request().empty()) side.reset();
    });
    CHECK(failure_of(silent).in_doubt());
    CHECK(failure_of(silent, quick(), body).in_doubt());
    HandlerServer cut([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
    });
    CHECK(failure_of(cut).in_doubt());
    HandlerServer nonsense([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.send("hello\r\n");
    });
    CHECK(failure_of(nonsense).in_doubt());
    HandlerServer half([](ServerSide& side) {
        std::string some;
        while (some.size() < 100'000 && side.read_some(some)) continue;
        side.reset();
    });
    const auto failure = failure_of(half, quick(), body);
    CHECK_FALSE(failure.in_doubt());
    CHECK(failure.may_retry());
    CHECK(failure.connection_lost());
}

TEST_CASE("net.http_post: a second post on the connection is judged by its own bytes") {
    const auto body = large_body();
    bool is_first = true;
    HandlerServer server([&](ServerSide& side) {
        if (std::exchange(is_first, false)) {
            static_cast<void>(side.read_request());
            side.send(http_answer(204));
        }
        std::string some;
        while (some.size() < 100'000 && side.read_some(some)) continue;
        side.reset();
    });
    net::HttpPoster poster(quick());
    CHECK(poster.post(to(server.url(), body), open_hooks())->status == 204);
    CHECK_FALSE(failure_of(poster, to(server.url(), body), open_hooks()).in_doubt());
}

TEST_CASE("net.http_post: a post that a dying connection may have delivered is in doubt though the second try fails") {
    // The first request is answered; the second is read whole, then the connection ends without a byte and so does the
    // server: libcurl tries again on a new connection, by itself.
    int requests = 0;
    HandlerServer server([&](ServerSide& side) {
        while (!side.read_request().empty()) {
            if (++requests >= 2) return;
            side.send(http_answer(204));
        }
    });
    net::HttpPoster poster(quick());
    CHECK(poster.post(to(server.url()), open_hooks())->status == 204);
    int asked = 0;
    auto hooks = open_hooks();
    hooks.may_connect = [&](const std::string&) { return ++asked > 1; };  // No new connection is let out.
    CHECK(failure_of(poster, to(server.url()), hooks).in_doubt());
    CHECK(requests == 2);
}

TEST_CASE("net.http_post: an answer that comes before the body is out is the answer") {
    const auto body = large_body();
    HandlerServer server([](ServerSide& side) {
        std::string rest;
        static_cast<void>(side.read_head(rest));
        side.send(http_answer(413, "Connection: close\r\n"));
        side.wait_for_end();
    });
    net::HttpPoster poster(quick());
    CHECK(poster.post(to(server.url(), body), open_hooks())->status == 413);
}

TEST_CASE("net.http_post: each limit ends its own part and no other") {
    const auto took = [](const HandlerServer& server, const net::PostLimits& limits, std::string_view body) {
        const auto begin = steady_clock::now();
        const auto failure = failure_of(server, limits, body);
        CHECK(failure.native_code() == "CURLE_28");
        CHECK(steady_clock::now() - begin < milliseconds(1500));
        return failure;
    };
    const auto body = large_body();
    HandlerServer reads_nothing([](ServerSide& side) { side.hang(); });
    const auto bytes = took(reads_nothing, quick(milliseconds(300), milliseconds(60'000)), body);
    CHECK(says(bytes, "the bytes took longer than 300 ms"));
    CHECK_FALSE(bytes.in_doubt());
    HandlerServer says_nothing([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.hang();
    });
    const auto reply = took(says_nothing, quick(milliseconds(60'000), milliseconds(300)), "body");
    CHECK(says(reply, "no whole answer within 300 ms after the last byte"));
    CHECK(reply.in_doubt());
    HandlerServer drips([](ServerSide& side) {
        static_cast<void>(side.read_request());
        for (const char byte : http_answer(200, "", std::string(4000, 'x'))) {
            if (side.is_over()) return;
            side.send(std::string(1, byte));
            std::this_thread::sleep_for(milliseconds(5));
        }
    });
    CHECK(took(drips, quick(milliseconds(60'000), milliseconds(300)), "body").in_doubt());
}

TEST_CASE("net.http_post: a name server that is silent holds nothing up beyond the limit for connecting") {
    const auto said = in_own_network({}, "127.0.0.1 localhost\n", [] {
        // Whoever is asked for a name: it listens and says nothing.
        const int silent = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(53);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const TempFolder folder;
        write_file(folder / "resolv.conf", "nameserver 127.0.0.1\n");
        if (bind(silent, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            mount((folder / "resolv.conf").c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) != 0) {
            return std::string("cannot be the name server");
        }
        net::PostLimits limits = quick();
        limits.connect = milliseconds(300);
        const auto begin = steady_clock::now();
        const auto failure = [&] {
            net::HttpPoster poster(limits);
            return failure_of(poster, to("http://nowhere.test/"), open_hooks());
        }();
        const bool is_quick = steady_clock::now() - begin < milliseconds(1500);
        return std::string(failure.may_retry() && !failure.in_doubt() && is_quick ? "ended" : failure.what());
    });
    CHECK(said == "ended");
}

TEST_CASE("net.http_post: a deadline that moves during the transfer ends it at its last place") {
    HandlerServer server([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.hang();
    });
    const auto begin = steady_clock::now();
    auto hooks = open_hooks();
    // 100 ms at first, renewed to 500 ms while it runs.
    hooks.deadline = [&] {
        const bool is_renewed = steady_clock::now() - begin > milliseconds(50);
        return core::Deadline(begin + milliseconds(is_renewed ? 500 : 100));
    };
    net::HttpPoster poster(quick(milliseconds(60'000), milliseconds(60'000)));
    const auto failure = failure_of(poster, to(server.url()), hooks);
    const auto took = steady_clock::now() - begin;
    CHECK(failure.in_doubt());
    CHECK(says(failure, "the time for this send is over"));
    CHECK(took >= milliseconds(499));
    CHECK(took < milliseconds(1000));
}

TEST_CASE("net.http_post: what is withheld right before its first byte sends nothing") {
    std::string seen = "nothing";
    HandlerServer server([&](ServerSide& side) {
        seen.clear();
        while (side.read_some(seen)) continue;
    });
    net::HttpPoster poster(quick());
    auto hooks = open_hooks();
    hooks.may_send = [&] {
        CHECK(server.connections() <= 1);
        return false;
    };
    CHECK_FALSE(poster.post(to(server.url()), hooks).has_value());
    CHECK(seen.find("POST") == std::string::npos);
}

TEST_CASE("net.http_post: endless answers and endless headers are refused in bounded memory") {
    HandlerServer body([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.send("HTTP/1.1 200 OK\r\n\r\n" + std::string(8 << 20, 'x'));
    });
    CHECK(says(failure_of(body), "longer than its limit"));
    HandlerServer headers([](ServerSide& side) {
        static_cast<void>(side.read_request());
        std::string many = "HTTP/1.1 200 OK\r\n";
        for (int i = 0; i < 100'000; ++i) many += "X-" + std::to_string(i) + ": y\r\n";
        side.send(many);
    });
    CHECK(failure_of(headers).in_doubt());
    HandlerServer early([](ServerSide& side) {
        static_cast<void>(side.read_request());
        for (int i = 0; i < 100'000 && !side.is_over(); ++i) side.send("HTTP/1.1 103 Early\r\nX: y\r\n\r\n");
    });
    CHECK(failure_of(early).in_doubt());
}

TEST_CASE("net.http_post: a redirect is an answer and not followed") {
    HandlerServer elsewhere([](ServerSide& side) { side.send(http_answer(200)); });
    HandlerServer server([&](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.send(http_answer(307, "Location: " + elsewhere.url() + "\r\n"));
    });
    net::HttpPoster poster(quick());
    CHECK(poster.post(to(server.url()), open_hooks())->status == 307);
    CHECK(elsewhere.connections() == 0);
}

TEST_CASE("net.http_post: a proxy of the environment is not used") {
    for (const char* name : {"http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"}) {
        setenv(name, "http://127.0.0.1:1", 1);
    }
    HandlerServer server([](ServerSide& side) {
        static_cast<void>(side.read_request());
        side.send(http_answer(204));
    });
    net::HttpPoster poster(quick());
    CHECK(poster.post(to(server.url()), open_hooks())->status == 204);
    for (const char* name : {"http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"}) unsetenv(name);
}

TEST_CASE("net.http_post: only http and https are spoken and no header holds a line break") {
    net::HttpPoster poster(quick());
    for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "", "http://"}) {
        CAPTURE(url);
        CHECK_FALSE(failure_of(poster, to(url), open_hooks()).may_retry());
    }
    HandlerServer server([](ServerSide& side) { side.send(http_answer(204)); });
    for (const auto& header : {std::string("X: a\r\nHost: evil"), std::string("X: a\nb"), std::string("X: a\0b", 6)}) {
        CHECK_THROWS_AS(static_cast<void>(poster.post(to(server.url(), "", {header}), open_hooks())),
                        core::InvalidInput);
    }
    CHECK(server.connections() == 0);
}

TEST_CASE("net.http_post: neither URL nor header gets into a failure") {
    net::HttpPoster poster(quick());
    const auto url = "http://127.0.0.1:" + std::to_string(free_port()) + "/hooks/hunter2?token=hunter2";
    const auto failure = failure_of(poster, to(url, "hunter2", {"X-Key: hunter2"}), open_hooks());
    CHECK(failure.native_code() == "CURLE_7");
    CHECK_FALSE(says(failure, "hunter2"));
    CHECK(says(failure, "POST the receiver"));
}

TEST_CASE("net.http_post: no address in whatever spelling is connected to without leave") {
    HandlerServer server([](ServerSide& side) { side.send(http_answer(204)); });
    const auto port = ":" + std::to_string(server.port()) + "/";
    auto hooks = open_hooks();
    std::string asked;
    hooks.may_connect = [&](const std::string& address) {
        asked += address + " ";
        return false;
    };
    for (const auto* host : {"127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.1",
                             "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "localhost",
                             "localhost.", "LOCALHOST", "127.0.0.1.", "0.0.0.0", "0", "[::1]", "[::]"}) {
        CAPTURE(host);
        net::HttpPoster poster(quick());
        const auto failure = failure_of(poster, to("http://" + std::string(host) + port), hooks);
        CHECK_FALSE(failure.in_doubt());
        CHECK_FALSE(says(failure, "127.0.0.1"));
    }
    CHECK(asked.find("127.0.0.1") != std::string::npos);
    CHECK(server.connections() == 0);
}

TEST_CASE("net.http_post: of a name with a public and a private address only the one that is allowed is connected to") {
    // A network of its own, in which a public address is ours.
    for (const std::string hosts :
         {"127.0.0.1 both.test\n198.41.0.4 both.test\n", "198.41.0.4 both.test\n127.0.0.1 both.test\n"}) {
        CAPTURE(hosts);
        const auto said = in_own_network({"198.41.0.4"}, hosts, [] {
            HandlerServer inner([](ServerSide& side) { side.send(http_answer(204)); });
            auto hooks = open_hooks();
            hooks.may_connect = [](const std::string& address) { return address == "198.41.0.4"; };
            net::HttpPoster poster(quick());
            // Nobody listens on the public one: it must not fall back on the private one.
            const auto failure =
                failure_of(poster, to("http://both.test:" + std::to_string(inner.port()) + "/"), hooks);
            HandlerServer outer(
                [](ServerSide& side) {
                    static_cast<void>(side.read_request());
                    side.send(http_answer(204));
                },
                "198.41.0.4");
            const auto answer = poster.post(to("http://both.test:" + std::to_string(outer.port()) + "/"), hooks);
            return std::to_string(inner.connections()) + " inside, " + std::to_string(outer.connections()) +
                   " outside, " + failure.native_code() + ", " + std::to_string(answer->status);
        });
        CHECK(said == "0 inside, 1 outside, CURLE_7, 204");
    }
}

TEST_CASE("net.http_post: a host whose every address is fenced off is refused for good and no address is told") {
    HandlerServer server([](ServerSide& side) { side.send(http_answer(204)); });
    net::HttpPoster poster(quick());
    auto hooks = open_hooks();
    hooks.may_connect = [](const std::string&) { return false; };
    const auto failure = failure_of(poster, to(server.url()), hooks);
    CHECK_FALSE(failure.may_retry());
    CHECK(says(failure, "outside the fence"));
    CHECK_FALSE(says(failure, "127.0.0.1"));
}
