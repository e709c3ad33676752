// Requests that two servers in a row could end at different bytes, sent to ftl-serve as they are and through a real nginx
// whose connections to it are kept and shared. What was asked is read from nginx's own log.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include <ftlfeed/core/text.hpp>

#include "smuggling_corpus.hpp"
#include "support/free_port.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace std::chrono_literals;

namespace {

/// What comes until the end of the stream; a reset is an end like another.
std::string receive_to_the_end(TcpSocket& socket) {
    std::string bytes;
    try {
        for (auto more = socket.receive(); !more.empty(); more = socket.receive()) bytes += more;
    } catch (const std::runtime_error& error) {
        if (std::string(error.what()) != "reset") throw;
    }
    return bytes;
}

/// The answers that stand one behind the other in `bytes`; each has its length, or no body.
std::vector<Pulled> answers_in(const std::string& bytes) {
    std::vector<Pulled> answers;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto end = bytes.find("\r\n\r\n", at);
        REQUIRE_MESSAGE(bytes.compare(at, 7, "HTTP/1.") == 0, core::json_quoted(bytes.substr(at, 100)));
        REQUIRE(end != std::string::npos);
        Pulled answer;
        answer.head = bytes.substr(at, end + 4 - at);
        answer.status = std::stoi(answer.head.substr(9, 3));
        const auto length = answer.field("Content-Length");
        answer.body = bytes.substr(end + 4, length.empty() ? 0 : std::stoul(length));
        at = end + 4 + answer.body.size();
        if (answer.status != 100) answers.push_back(std::move(answer));  // That is no answer yet.
    }
    return answers;
}

/// Every answer that ftl-serve has given since it started, as it counts them itself.
double answers_of(const ServeWorld& world) {
    double sum = 0;
    std::istringstream lines(world.ops("/metrics"));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("ftl_serve_answers_total{")) sum += std::stod(line.substr(line.rfind(' ')));
    }
    return sum;
}

/// A line of nginx's access log: one request as nginx understood it.
struct Passed {
    std::string status;
    std::string upstream_status;  ///< `-` when nginx answered by itself.
    std::string request;
};

/// nginx before ftl-serve: one process, two ports. On the second one bodies are passed on while they come, and fields of
/// strange names with them.
class Nginx {
public:
    explicit Nginx(std::uint16_t upstream) : ports{free_port(), free_port()} {
        write_file(folder_ / "nginx.conf", configuration(upstream));
        const auto path = std::string(::getenv("PATH")) + ":/usr/sbin";
        ProcessOptions options;
        options.environment["PATH"] = path;
        options.log = folder_ / "log";
        process_.emplace(std::vector<std::string>{"env", "nginx", "-p", folder_.path(), "-e", "stderr", "-c",
                                                  folder_ / "nginx.conf"},
                         options);
        REQUIRE_MESSAGE(wait_until([&] { return is_listening(ports[0]) && is_listening(ports[1]); }),
                        "nginx does not start; tools/setup.sh test installs it: " << read_file(folder_ / "log"));
    }

    [[nodiscard]] std::vector<Passed> log() const {
        std::vector<Passed> passed;
        std::istringstream lines(read_file(folder_ / "access.log"));
        for (std::string line; std::getline(lines, line);) {
            Passed one;
            std::istringstream words(line);
            words >> one.status >> one.upstream_status;
            std::getline(words, one.request);
            passed.push_back(std::move(one));
        }
        return passed;
    }

    const std::array<std::uint16_t, 2> ports;

private:
    static bool is_listening(std::uint16_t port) {
        try {
            return TcpSocket::connect(port), true;
        } catch (const std::exception&) {
            return false;
        }
    }

    [[nodiscard]] std::string configuration(std::uint16_t upstream) const {
        const auto port = [&](std::size_t i) { return std::to_string(ports.at(i)); };
        return std::string(::geteuid() == 0 ? "user root;\n" : "") +
               R"(daemon off; master_process off; pid nginx.pid;
events { worker_connections 2048; }
http {
  log_format passed '$status $upstream_status $request'; access_log access.log passed;
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  client_header_timeout 1s; client_body_timeout 1s; keepalive_timeout 1s; lingering_time 1s; lingering_timeout 1s;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_next_upstream off;
  upstream feeds { server 127.0.0.1:)" +
               std::to_string(upstream) + R"(; keepalive 4; }
  server { listen 127.0.0.1:)" +
               port(0) + R"(; location / { proxy_pass http://feeds; } }
  server { listen 127.0.0.1:)" +
               port(1) + R"(; ignore_invalid_headers off; underscores_in_headers on; proxy_request_buffering off;
    location / { proxy_pass http://feeds; } }
})";
    }

    TempFolder folder_;
    std::optional<Process> process_;
};

/// Both files are there; the hidden one in Postgres alone, so that whoever is given it leaves it in Redis.
void publish_both(const ServeWorld& world) {
    put(world.redis, "wc/calendar", document("the open file", 5));
    publish(world.uri(), "wc/standings", "the hidden file", 6);
}

}  // namespace

TEST_CASE(
    "serve.smuggling: sent as it is each gets one refusal and the connection ends and what it hides is not asked for") {
    const ServeWorld world({"--serve.head_timeout_ms", "2000"});
    publish_both(world);
    const auto corpus = smuggling_corpus();
    for (const auto& [name, bytes, status] : corpus) {
        CAPTURE(core::json_quoted(name));
        auto socket = world.connect();
        socket.send(bytes);
        const auto answers = answers_in(receive_to_the_end(socket));
        REQUIRE(answers.size() == 1);
        CHECK(answers[0].status == status);
        CHECK(answers[0].field("Connection") == "close");
    }
    CHECK(answers_of(world) == static_cast<double>(corpus.size()));
    CHECK(world.redis.cli({"EXISTS", "feed:d:wc/standings"}) == "0");
    CHECK(world.metric("ftl_serve_postgres_reads_total") == 0);
    CHECK(world.log().find("standings") == std::string::npos);
    // The canary: asked for by a request of its own it is there.
    CHECK(world.get(kHiddenFile).body == "the hidden file");
}

TEST_CASE("serve.smuggling: behind nginx each request has one answer and no other client is given another's") {
    const ServeWorld world;
    publish_both(world);
    const Nginx nginx(world.port());
    const auto before = answers_of(world);
    std::size_t answered = 0;
    for (const auto port : nginx.ports) {
        std::vector<TcpSocket> attackers;
        for (const auto& [name, bytes, status] : smuggling_corpus()) {
            if (name == "HTTP/0.9") continue;  // Its answer has no head: nginx speaks that too.
            CAPTURE(core::json_quoted(name));
            attackers.push_back(TcpSocket::connect(port));
            attackers.back().send(bytes);
            // Who comes next, on the connections to ftl-serve that nginx shares out.
            auto victim = TcpSocket::connect(port);
            const auto answer = pull(victim, kOpenFile, kKeyField + "Connection: close\r\n");
            CHECK(answer.status == 200);
            CHECK(answer.body == "the open file");
            ++answered;
        }
        for (auto& attacker : attackers) answered += answers_in(receive_to_the_end(attacker)).size();
    }
    auto passed = nginx.log();
    const auto count = [&](auto is_counted) {
        return static_cast<std::size_t>(std::count_if(passed.begin(), passed.end(), is_counted));
    };
    // A connection that nginx closed without an answer (408, 499) is in its log too.
    const auto is_unanswered = [](const Passed& one) { return one.status == "408" || one.status == "499"; };
    // It writes a line when the connection is over for it, a little after the client has its answer.
    CHECK(wait_until([&] {
        passed = nginx.log();
        return answered + count(is_unanswered) == passed.size();
    }));
    // What nginx asked is what ftl-serve answered: it saw no request more, and left none without an answer.
    CHECK(count([](const Passed& one) { return one.upstream_status.starts_with("50"); }) == 0);
    const auto asked = count([](const Passed& one) { return one.upstream_status != "-"; });
    CHECK(answers_of(world) - before == static_cast<double>(asked));
    // Some spell two requests to nginx itself. Otherwise nobody was given the hidden file.
    const auto hidden = count([](const Passed& one) { return one.request.find(kHiddenFile) != std::string::npos; });
    CHECK((hidden > 0) == (world.redis.cli({"EXISTS", "feed:d:wc/standings"}) == "1"));
    CHECK(asked > smuggling_corpus().size() * 2);
}

TEST_CASE("serve.smuggling: an upgrade to HTTP 2 is not taken and what follows it ends the connection") {
    const ServeWorld world;
    publish_both(world);
    auto socket = world.connect();
    socket.send(
        asking("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n", "") +
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + kHidden);
    const auto answers = answers_in(receive_to_the_end(socket));
    REQUIRE(answers.size() == 2);
    CHECK(answers[0].status == 200);
    CHECK(answers[0].body == "the open file");
    CHECK(answers[1].status == 505);
    CHECK(answers[1].field("Connection") == "close");
}

TEST_CASE("serve.smuggling: no spelling of a path over the wire leaves the feeds") {
    const ServeWorld world;
    publish_both(world);
    auto socket = world.connect();
    const auto unknown = pull(socket, "/feeds/wc/calendar/nothing", kKeyField).without_date();
    // Some would be one of the two files if anything were decoded or made shorter.
    for (const std::string target : {"/feeds/wc/../wc/calendar",
                                     "/feeds/./wc/calendar",
                                     "/feeds/wc//calendar",
                                     "/feeds/wc/calendar/",
                                     "/feeds/wc/calendar/..",
                                     "/feeds/wc/%63alendar",
                                     "/feeds/wc%2fcalendar",
                                     "/feeds/wc%2Fcalendar",
                                     "/feeds/%2e%2e/feeds/wc/calendar",
                                     "/feeds/wc/%2e/calendar",
                                     "/feeds/wc/calendar%00",
                                     "/feeds/wc/calendar%00.json",
                                     "/feeds/wc/calendar%0d%0aX:%20y",
                                     "/feeds/wc/calendar%20",
                                     "/feeds/wc/calendar;a=b",
                                     "/feeds/wc/calendar\\",
                                     "/feeds\\wc\\calendar",
                                     "/feeds/wc/..%5ccalendar",
                                     "/feeds/WC/calendar",
                                     "/feeds/wc/calendar%",
                                     "/feeds/wc/calendar%zz",
                                     "/feeds/wc/\xc0\xae\xc0\xae/calendar",
                                     "/feeds/wc/calendar\xff",
                                     "/feeds/wc/c\xc3\xa4lendar",
                                     "/feeds/wc/calendar\xe2\x80\xae",
                                     "/feeds/wc/calendar'--",
                                     "/feeds/wc/*"}) {
        CAPTURE(core::json_quoted(target));
        CHECK(pull(socket, target, kKeyField).without_date() == unknown);
    }
    CHECK(pull(socket, "/feeds/wc/calendar?../..", kKeyField).status == 200);
    // What cannot stand in a request's first line ends the connection.
    for (const std::string& target : {std::string("/feeds/wc/calendar\0", 19), std::string("/feeds/wc/cal\x01ndar"),
                                      std::string("/feeds/wc/calendar\x7f"), std::string("/feeds/wc/cal\tendar")}) {
        CAPTURE(core::json_quoted(target));
        auto other = world.connect();
        CHECK(pull(other, target, kKeyField).status == 400);
        CHECK(receive_to_the_end(other).empty());
    }
    const auto longest = pull(socket, "/" + std::string(100'000, 'a'), kKeyField);
    CHECK(longest.status == 414);
    CHECK(receive_to_the_end(socket).empty());
}
