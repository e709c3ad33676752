// ftl-serve as its clients see it, on a real Redis and a real Postgres.

#include <atomic>
#include <thread>

#include <ftlfeed/serve/conditional.hpp>

#include "world.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

const std::string kFile = "/feeds/wc/calendar";

/// As many as an answer holds; nothing may follow them.
bool is_closed_after(TcpSocket& socket) { return socket.receive_all().empty(); }

}  // namespace

TEST_CASE("serve.pull: an empty cache is filled from Postgres and the file is in Redis then") {
    const ServeWorld world;
    publish(world.uri(), "wc/calendar", "the calendar", 5);
    const auto answer = world.get(kFile);
    CHECK(answer.status == 200);
    CHECK(answer.body == "the calendar");
    CHECK(answer.field("ETag") == "\"1000-5-1\"");
    CHECK(answer.field("Content-Type") == "application/json");
    CHECK(answer.field("Last-Modified") == serve::http_date(1'780'000'005));
    CHECK(answer.field("Age").empty());
    CHECK_FALSE(answer.field("Date").empty());
    REQUIRE(wait_until([&] {
        return world.redis.cli({"HGET", "feed:d:wc/calendar", "v"}) == core::Version{1000, 5, 1}.text();
    }));
    // By now Redis is asked, and Postgres no more.
    for (int i = 0; i < 5; ++i) CHECK(world.get(kFile).status == 200);
    CHECK(world.metric("ftl_serve_postgres_reads_total") == 1);
}

TEST_CASE("serve.pull: both codings carry the same file under tags of their own") {
    const ServeWorld world;
    const std::string body(100'000, 'x');
    put(world.redis, "wc/calendar", document(body, 5));
    const auto plain = world.get(kFile);
    const auto gzip = world.get(kFile, "Accept-Encoding: gzip\r\n");
    CHECK(plain.body == body);
    CHECK(plain.field("Content-Encoding").empty());
    CHECK(gzip.field("Content-Encoding") == "gzip");
    CHECK(core::gunzip(gzip.body, body.size()) == body);
    CHECK(plain.field("ETag") == "\"1000-5-1\"");
    CHECK(gzip.field("ETag") == "\"1000-5-1-gzip\"");
    CHECK(plain.field("Vary") == "Accept-Encoding");
    CHECK(world.get(kFile, "Accept-Encoding: identity;q=0, br\r\n").status == 406);
    CHECK(world.metric("ftl_serve_postgres_reads_total") == 0);
}

TEST_CASE("serve.pull: a client that has the version gets a 304 of its coding and no body") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    for (const auto* tag : {"\"1000-5-1\"", "W/\"1000-5-1\"", "\"x\", \"1000-5-1\"", "*"}) {
        const auto answer = world.get(kFile, "If-None-Match: "s + tag + "\r\n");
        CHECK(answer.status == 304);
        CHECK(answer.field("ETag") == "\"1000-5-1\"");
        CHECK(answer.field("Vary") == "Accept-Encoding");
        CHECK(answer.field("Last-Modified") == serve::http_date(1'780'000'005));
        CHECK(answer.field("Content-Length").empty());
    }
    CHECK(world.get(kFile, "If-None-Match: \"1000-5-1-gzip\"\r\n").status == 200);
    CHECK(world.get(kFile, "Accept-Encoding: gzip\r\nIf-None-Match: \"1000-5-1-gzip\"\r\n").status == 304);
    CHECK(world.get(kFile, "If-None-Match: \"1000-4-1\"\r\n").status == 200);
    const auto since = [&](std::time_t time) {
        return world.get(kFile, "If-Modified-Since: " + serve::http_date(time) + "\r\n").status;
    };
    CHECK(since(1'780'000'005) == 304);
    CHECK(since(1'780'000'004) == 200);
    CHECK(world.get(kFile, "If-None-Match: \"x\"\r\nIf-Modified-Since: " + serve::http_date(1'780'000'005) + "\r\n")
              .status == 200);
}

TEST_CASE("serve.pull: HEAD says what GET says and has no body") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto socket = world.connect();
    for (const std::string fields : {"", "Accept-Encoding: gzip\r\n", "If-None-Match: *\r\n"}) {
        const auto get = pull(socket, kFile, kKeyField + fields);
        const auto head = pull(socket, kFile, kKeyField + fields, "HEAD");
        CHECK(head.status == get.status);
        CHECK(head.field("Content-Length") == get.field("Content-Length"));
        CHECK(head.field("ETag") == get.field("ETag"));
    }
    CHECK(pull(socket, "/feeds/wc/nothing", kKeyField, "HEAD").status == 404);
    CHECK(pull(socket, kFile, kKeyField).body == "one");
}

TEST_CASE("serve.pull: a new version in Redis is in the next answer and only then its body is fetched") {
    const ServeWorld world;
    auto socket = world.connect();
    for (int seq = 1; seq <= 5; ++seq) {
        put(world.redis, "wc/calendar", document("version " + std::to_string(seq), seq));
        for (int i = 0; i < 10; ++i) CHECK(pull(socket, kFile, kKeyField).body == "version " + std::to_string(seq));
    }
    CHECK(calls(world.redis, "hgetall") == 5);
}

TEST_CASE("serve.pull: a retired file answers 410 from Redis and from Postgres") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("", 6, true));
    CHECK(world.get(kFile).status == 410);
    publish(world.uri(), "wc/standings", "last", 7, true);
    CHECK(world.get("/feeds/wc/standings").status == 410);
    REQUIRE(wait_until([&] { return world.redis.cli({"HGET", "feed:d:wc/standings", "gone"}) == "1"; }));
    CHECK(world.get("/feeds/wc/standings").status == 410);
    put(world.redis, "wc/calendar", document("back", 8));
    CHECK(world.get(kFile).body == "back");
}

TEST_CASE("serve.pull: a key is asked for first and what is not there looks like what is not allowed") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    world.exec("INSERT INTO event (code, name, provider, provider_season_id) VALUES ('ec', 'Cup', 'sim', 2)");
    world.exec("UPDATE client_entitlement SET events = '{wc}'");
    put(world.redis, "ec/calendar", document("two", 5));
    REQUIRE(wait_until([&] { return world.get("/feeds/ec/calendar").status == 404; }));
    const auto unknown = world.get("/feeds/wc/calendar/nothing");
    for (const auto* path :
         {"/feeds/ec/calendar", "/feeds/xx/calendar", "/feeds/wc/nonsense", "/feeds/..", "/feeds/wc/%2e"}) {
        CHECK(world.get(path).without_date() == unknown.without_date());
    }
    CHECK(world.get("/feeds/ec/calendar", "If-None-Match: \"1000-5-1\"\r\n").status == 404);
    auto socket = world.connect();
    const auto refused = pull(socket, kFile);
    CHECK(refused.status == 401);
    CHECK(refused.field("WWW-Authenticate") == "Bearer");
    for (const auto* path : {"/feeds/ec/calendar", "/feeds/.."}) CHECK(pull(socket, path).status == 401);
    CHECK(pull(socket, kFile, "Authorization: Bearer k2\r\n").without_date() == refused.without_date());
    CHECK(pull(socket, kFile, "Authorization: Basic k1\r\n").status == 401);
    CHECK(pull(socket, kFile, "X-Key: k1\r\n").status == 401);
    CHECK(pull(socket, kFile, "Authorization: Bearer " + std::string(5000, 'k') + "\r\n").status == 401);
    CHECK(pull(socket, "/", "").status == 404);
}

TEST_CASE("serve.pull: each of the three places of a key opens") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto socket = world.connect();
    CHECK(pull(socket, kFile, "Authorization: Bearer k1\r\n").status == 200);
    CHECK(pull(socket, kFile, "X-Api-Key: k1\r\n").status == 200);
    CHECK(pull(socket, kFile + "?a=b&key=k1").status == 200);
    CHECK(read_file(world.temp / "log").find("k1") == std::string::npos);
}

TEST_CASE("serve.pull: only GET and HEAD are taken and others are told so") {
    const ServeWorld world;
    for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH", "get"}) {
        auto socket = world.connect();
        const auto answer = pull(socket, kFile, kKeyField, method);
        CHECK(answer.status == 405);
        CHECK(answer.field("Allow") == "GET, HEAD");
        CHECK(is_closed_after(socket));
    }
}

TEST_CASE("serve.pull: pipelined requests are answered each and in their order") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    put(world.redis, "wc/standings", document(std::string(100'000, 'y'), 6));
    auto socket = world.connect();
    std::string requests;
    constexpr int kRounds = 50;
    for (int i = 0; i < kRounds; ++i) {
        for (const auto* path : {"/feeds/wc/calendar", "/feeds/wc/nothing", "/feeds/wc/standings"}) {
            requests += "GET "s + path + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + "\r\n";
        }
    }
    socket.send(requests);
    for (int i = 0; i < kRounds; ++i) {
        CHECK(read_answer(socket).body == "one");
        CHECK(read_answer(socket).status == 404);
        CHECK(read_answer(socket).body.size() == 100'000);
    }
}

TEST_CASE("serve.pull: what a client asked before has no part in what it asks now") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    put(world.redis, "wc/standings", document("two", 6));
    auto socket = world.connect();
    for (int i = 0; i < 3; ++i) {
        // The same, a longer one with the same beginning, others, and the same again.
        CHECK(pull(socket, kFile, kKeyField).body == "one");
        CHECK(pull(socket, kFile, kKeyField).body == "one");
        CHECK(pull(socket, kFile, kKeyField + "If-None-Match: *\r\n").status == 304);
        CHECK(pull(socket, kFile, kKeyField + "If-None-Match: \"x\"\r\nIf-None-Match: \"1000-5-1\"\r\n").status == 304);
        CHECK(pull(socket, kFile, kKeyField + "If-None-Match: \"x\"\r\nIf-None-Match: \"1000-5-1\"\r\n").status == 304);
        CHECK(pull(socket, kFile, kKeyField).body == "one");
        CHECK(pull(socket, "/feeds/wc/standings", kKeyField).body == "two");
        CHECK(pull(socket, kFile).status == 401);
        CHECK(pull(socket, kFile, "X-Api-Key: k1\r\n").body == "one");
        CHECK(pull(socket, kFile, kKeyField + "X: " + std::string(3000, 'x') + "\r\n").body == "one");
        CHECK(pull(socket, kFile, kKeyField, "HEAD").body.empty());
    }
}

TEST_CASE("serve.pull: a malformed request gets one answer and the connection ends whatever follows it") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    const auto next = "GET " + kFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + "\r\n";
    struct Row {
        std::string request;
        int status;
    };
    for (const auto& [request, status] :
         {Row{"GET " + kFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + "Content-Length: 3\r\n\r\nabc", 400},
          Row{"GET " + kFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
              400},
          Row{"POST " + kFile +
                  " HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
              400},
          Row{"GET " + kFile + " HTTP/1.1\r\n\r\n", 400},
          Row{"GET http://a" + kFile + " HTTP/1.1\r\nHost: a\r\n\r\n", 400},
          Row{"GET " + kFile + " HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400}, Row{"GET " + kFile + "\r\n", 400},
          Row{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
          Row{"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\n\r\n", 414},
          Row{"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(100'000, 'a') + "\r\n\r\n", 431},
          Row{"POST " + kFile + " HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde", 405}}) {
        auto socket = world.connect();
        socket.send(request + next + next);
        const auto answer = read_answer(socket);
        CHECK(answer.status == status);
        CHECK(answer.field("Connection") == "close");
        CHECK(is_closed_after(socket));
    }
    // A good one before it has its answer.
    auto socket = world.connect();
    socket.send(next + "GET / HTTP/1.1\r\n\r\n" + next);
    CHECK(read_answer(socket).body == "one");
    CHECK(read_answer(socket).status == 400);
    CHECK(is_closed_after(socket));
}

TEST_CASE("serve.pull: a client of HTTP 1.0 is answered and the connection ends") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto socket = world.connect();
    socket.send("GET " + kFile + " HTTP/1.0\r\n" + kKeyField + "Connection: keep-alive\r\n\r\n");
    const auto answer = read_answer(socket);
    CHECK(answer.status == 200);
    CHECK(answer.field("Connection") == "close");
    CHECK(is_closed_after(socket));
}

TEST_CASE("serve.pull: who sends its head too slowly is told and closed while others are served") {
    const ServeWorld world({"--serve.head_timeout_ms", "300", "--serve.idle_timeout_ms", "600"});
    put(world.redis, "wc/calendar", document("one", 5));
    std::vector<TcpSocket> slow;
    for (int i = 0; i < 200; ++i) {
        slow.push_back(world.connect());
        slow.back().send("GET / HTTP/1.1\r\nX: ");
    }
    CHECK(world.get(kFile).body == "one");
    for (auto& socket : slow) {
        CHECK(read_answer(socket).status == 408);
        CHECK(is_closed_after(socket));
    }
    auto idle = world.connect();
    CHECK(pull(idle, kFile, kKeyField).status == 200);
    CHECK(is_closed_after(idle));
}

TEST_CASE("serve.pull: a head that comes byte by byte is over at its limit however steadily it comes") {
    const ServeWorld world({"--serve.head_timeout_ms", "400"});
    put(world.redis, "wc/calendar", document("one", 5));
    auto slow = world.connect();
    const auto request = "GET " + kFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField;
    const auto begin = std::chrono::steady_clock::now();
    // A byte whenever the server has said nothing for a moment.
    for (std::size_t at = 0; at < request.size() && !slow.has_news(20); ++at) slow.send(request.substr(at, 1));
    CHECK(std::chrono::steady_clock::now() - begin < 2s);
    CHECK(read_answer(slow).status == 408);
    CHECK(is_closed_after(slow));
    CHECK(world.get(kFile).body == "one");
}

TEST_CASE("serve.pull: who does not take its answer is closed and holds up nobody") {
    const ServeWorld world({"--serve.write_timeout_ms", "300", "--serve.bytes_per_second_min", "1000000000",
                            "--serve.fetch_timeout_ms", "30000", "--serve.check_timeout_ms", "30000"});
    // Does not pack, and is more than a socket holds.
    std::string body(16'000'000, '\0');
    std::uint32_t random = 1;
    for (auto& byte : body) byte = static_cast<char>((random = random * 1'664'525 + 1'013'904'223) >> 24U);
    put(world.redis, "wc/standings", document(body, 5));
    put(world.redis, "wc/calendar", document("one", 5));
    auto lazy = world.connect();
    lazy.send("GET /feeds/wc/standings HTTP/1.1\r\nHost: a\r\n" + kKeyField + "\r\n");
    REQUIRE(wait_until([&] {
        CHECK(world.get(kFile).body == "one");
        return world.metric("ftl_serve_connections") == 0;
    }));
    // What was on its way comes, and then the connection ends before the answer does.
    CHECK(read_answer(lazy).body.size() < body.size());

    // Nor does it help to take a little of it again and again.
    auto sipping = world.connect();
    sipping.send("GET /feeds/wc/standings HTTP/1.1\r\nHost: a\r\n" + kKeyField + "\r\n");
    REQUIRE(wait_until([&] {
        static_cast<void>(sipping.receive(1));
        return world.metric("ftl_serve_connections") == 0;
    }));
}

TEST_CASE("serve.pull: a flood of requests on one connection is answered whole and holds up nobody") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto flood = world.connect();
    constexpr int kRequests = 20'000;
    std::jthread sender([&] {
        // No key: what is answered without a question to Redis could keep a loop busy for ever.
        std::string requests;
        for (int i = 0; i <= kRequests; ++i) requests += "GET " + kFile + " HTTP/1.1\r\nHost: a\r\n\r\n";
        flood.send(requests);
    });
    const auto first = read_answer(flood);
    REQUIRE(first.status == 401);
    const auto answer_bytes = first.head.size() + first.body.size();
    constexpr int kParts = 20;
    for (int i = 0; i < kParts; ++i) {
        const auto answers = flood.receive_exactly(answer_bytes * kRequests / kParts);
        CHECK(answers.size() == answer_bytes * kRequests / kParts);
        CHECK(answers.ends_with(first.body));
        CHECK(world.get(kFile).body == "one");
    }
}

TEST_CASE("serve.pull: a client that has ended its side is answered what it asked before") {
    const ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    const auto request = "GET " + kFile + " HTTP/1.1\r\nHost: a\r\n" + kKeyField + "\r\n";
    auto socket = world.connect();
    socket.send(request + request);
    socket.end_sending();
    CHECK(read_answer(socket).body == "one");
    CHECK(read_answer(socket).body == "one");
    CHECK(is_closed_after(socket));
}

TEST_CASE("serve.pull: one client too many is closed and the others are served on") {
    const ServeWorld world({"--serve.connections_max", "3"});
    put(world.redis, "wc/calendar", document("one", 5));
    std::vector<TcpSocket> clients;
    for (int i = 0; i < 3; ++i) {
        clients.push_back(world.connect());
        CHECK(pull(clients.back(), kFile, kKeyField).status == 200);
    }
    auto one_too_many = world.connect();
    CHECK(is_closed_after(one_too_many));
    for (auto& client : clients) CHECK(pull(client, kFile, kKeyField).status == 200);
    clients.clear();
    REQUIRE(wait_until([&] {
        auto socket = world.connect();
        try {
            return pull(socket, kFile, kKeyField).status == 200;
        } catch (const std::exception&) {
            return false;  // Closed while we wrote.
        }
    }));
}

TEST_CASE("serve.pull: SIGTERM closes those who wait and finishes what is asked and exits 0") {
    ServeWorld world;
    put(world.redis, "wc/calendar", document("one", 5));
    auto idle = world.connect();
    CHECK(pull(idle, kFile, kKeyField).status == 200);
    CHECK(world.server->terminate(10s).exit_code == 0);
    CHECK(is_closed_after(idle));
}

TEST_CASE("serve.pull: several loops serve one port and read a file from Postgres once") {
    const ServeWorld world({"--serve.threads", "4"});
    publish(world.uri(), "wc/calendar", "one", 5);
    std::atomic<int> good{0};
    std::vector<std::jthread> clients;
    for (int i = 0; i < 16; ++i) {
        clients.emplace_back([&] {
            for (int at = 0; at < 20; ++at) {
                if (world.get(kFile).body == "one") ++good;
            }
        });
    }
    clients.clear();
    CHECK(good == 320);
    CHECK(world.metric("ftl_serve_postgres_reads_total") == 1);
}

TEST_CASE("serve.pull: --check tries Postgres and Redis and names what does not answer") {
    const Database db;
    RedisServer redis;
    const auto check = [&] {
        return run_command(
            {app("ftl-serve").string(), "--check", "--postgres.uri", db.uri(), "--cache.uri", redis.uri()});
    };
    CHECK(check().exit_code == 0);
    redis.kill();
    const auto failed = check();
    CHECK(failed.exit_code == 1);
    CHECK((failed.output + failed.errors).find("redis") != std::string::npos);
}
