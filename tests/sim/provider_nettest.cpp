#include <doctest/doctest.h>
#include <libdeflate.h>

#include <csignal>
#include <memory>
#include <string>
#include <thread>

#include "golden.hpp"
#include "provider_server.hpp"
#include "support/process.hpp"
#include "support/wait.hpp"
#include "tcp.hpp"

using namespace ftl::test;
using namespace ftlfeed::sim;

namespace {

const std::string kInplay = "/v3/football/livescores/inplay?include=participants;scores;events";
const std::string kToken = "Authorization: sim-token\r\n";

/// The real server on a free port, on a thread of its own.
class Served {
public:
    explicit Served(ProviderSettings settings = {})
        : server_(Provider(sample("shape_2022.json"), std::move(settings)), "127.0.0.1", 0),
          thread_([this] { server_.run(); }) {}
    ~Served() { server_.stop(); }

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }

private:
    ProviderServer server_;
    std::jthread thread_;
};

std::string unzipped(const std::string& packed) {
    const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> inflate(
        libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
    std::string plain(1 << 20, '\0');
    std::size_t size = 0;
    const auto result =
        libdeflate_gzip_decompress(inflate.get(), packed.data(), packed.size(), plain.data(), plain.size(), &size);
    REQUIRE(result == LIBDEFLATE_SUCCESS);
    plain.resize(size);
    return plain;
}

bool says(const HttpAnswer& answer, const std::string& text) { return answer.head.find(text) != std::string::npos; }

std::string clock_of(TcpSocket& socket) {
    const auto body = http_get(socket, "/sim/status").body;
    const std::string key = "\"clock\":\"";
    return body.substr(body.find(key) + key.size(), 20);
}

}  // namespace

TEST_CASE("sim.server: one connection carries many requests and its answers move the clock") {
    const Served served;
    auto socket = TcpSocket::connect(served.port());
    for (int n = 0; n < 3; ++n) {
        const auto answer = http_get(socket, kInplay, kToken);
        CHECK(says(answer, "HTTP/1.1 200 OK"));
        CHECK(says(answer, "Content-Type: application/json"));
    }
    CHECK(clock_of(socket) == "2022-11-20T19:11:30Z");
    CHECK(says(http_get(socket, kInplay), "HTTP/1.1 401 "));
    CHECK(says(http_get(socket, "/v3/nowhere", kToken), "HTTP/1.1 404 "));
}

TEST_CASE("sim.server: who accepts gzip gets it with the same content") {
    const Served served;
    auto plain = TcpSocket::connect(served.port());
    auto packed = TcpSocket::connect(served.port());
    const std::string target = "/v3/football/fixtures/19000001";
    const auto expected = http_get(plain, target, kToken);
    const auto answer = http_get(packed, target, kToken + "Accept-Encoding: gzip, deflate\r\n");
    CHECK(says(answer, "Content-Encoding: gzip"));
    CHECK(unzipped(answer.body) == expected.body);
    CHECK_FALSE(says(expected, "Content-Encoding"));
}

TEST_CASE("sim.server: half a body and no answer at all leave the clock where it is") {
    ProviderSettings settings;
    settings.faults = {{2, Fault::kHalf}, {3, Fault::kNothing}};
    const Served served(settings);
    auto socket = TcpSocket::connect(served.port());
    (void)http_get(socket, kInplay, kToken);
    const auto half = http_get(socket, kInplay, kToken);
    const auto promised = std::stoul(half.head.substr(half.head.find("Content-Length: ") + 16));
    CHECK(half.body.size() == promised / 2);
    socket = TcpSocket::connect(served.port());
    CHECK(http_get(socket, kInplay, kToken).head.empty());
    socket = TcpSocket::connect(served.port());
    CHECK(clock_of(socket) == "2022-11-20T19:00:00Z");
    CHECK(says(http_get(socket, kInplay, kToken), "HTTP/1.1 200 OK"));
    CHECK(clock_of(socket) == "2022-11-20T19:00:00Z");
}

TEST_CASE("sim.server: a reader that leaves in mid-request harms nobody") {
    const Served served;
    {
        auto gone = TcpSocket::connect(served.port());
        gone.send("GET /v3/football/livesc");
    }
    auto socket = TcpSocket::connect(served.port());
    CHECK(says(http_get(socket, kInplay, kToken), "HTTP/1.1 200 OK"));
}

TEST_CASE("sim.server: a taken port is a clear error") {
    const Served served;
    CHECK_THROWS_WITH_AS(ProviderServer(Provider(sample("shape_2022.json"), {}), "127.0.0.1", served.port()),
                         doctest::Contains("cannot listen on 127.0.0.1"), std::runtime_error);
}

TEST_CASE("sim.command: the provider writes its port when it listens and ends cleanly on SIGTERM") {
    const TempFolder folder;
    const auto port_file = folder / "port";
    Process provider({app("ftl-sim").string(), "provider", "--data", sim_file("data/shape_2026.json").string(),
                      "--port-file", port_file.string(), "--token", "other"});
    REQUIRE(wait_until([&] { return std::filesystem::exists(port_file); }));
    auto socket = TcpSocket::connect(static_cast<std::uint16_t>(std::stoi(read_file(port_file))));
    CHECK(says(http_get(socket, kInplay, kToken), "HTTP/1.1 401 "));
    CHECK(says(http_get(socket, kInplay, "Authorization: other\r\n"), "HTTP/1.1 200 OK"));
    CHECK(provider.terminate() == ProcessEnd{0, std::nullopt});
}

TEST_CASE("sim.command: a wrong command line ends with 2 and a file that cannot be read with 1") {
    const auto sim = app("ftl-sim").string();
    const auto code = [&](std::vector<std::string> words) {
        words.insert(words.begin(), sim);
        return run_command(words).exit_code;
    };
    CHECK(code({}) == 2);
    CHECK(code({"player"}) == 2);
    CHECK(code({"provider"}) == 2);
    CHECK(code({"provider", "--data", "x", "--port", "lots"}) == 2);
    CHECK(code({"provider", "--data", sim_file("data/shape_2022.json").string(), "--speed", "-1"}) == 2);
    CHECK(code({"provider", "--data", sim_file("data/shape_2022.json").string(), "--fault", "html"}) == 2);
    CHECK(code({"generate", "--out", "-", "--teams", "9"}) == 2);
    CHECK(code({"proxy", "--to", "nowhere"}) == 2);
    CHECK(code({"proxy", "--to", "127.0.0.1:80x"}) == 2);
    CHECK(code({"receive", "--log", "/dev/null"}) == 2);
    CHECK(code({"pull", "--url", "http://127.0.0.1:1", "--key-file", sim_file("README.md").string(), "--log",
                "/dev/null"}) == 2);
    CHECK(code({"proxy", "--to", "127.0.0.1:1", "--script", "*: explode"}) == 2);
    CHECK(code({"provider", "--data", "/nonexistent/cup.json"}) == 1);
    CHECK(code({"receive", "--folder", "/nonexistent", "--log", "/dev/null"}) == 1);
}

TEST_CASE("sim.command: every sub-command explains itself with an example") {
    const auto sim = app("ftl-sim").string();
    for (const char* name : {"provider", "generate", "receive", "pull", "proxy"}) {
        CAPTURE(name);
        const auto help = run_command({sim, name, "--help"});
        CHECK(help.exit_code == 0);
        CHECK(help.output.find(std::string("ftl-sim ") + name + " --") != std::string::npos);
        CHECK(help.output.find("Example") != std::string::npos);
    }
    CHECK(run_command({sim, "--help"}).exit_code == 0);
    CHECK(run_command({sim, "pull", "--files", "a/b"}).errors.find("ftl-sim pull --help") != std::string::npos);
}

TEST_CASE("sim.command: a generated file is what the provider plays") {
    const TempFolder folder;
    const auto file = (folder / "cup.json").string();
    REQUIRE(
        run_command({app("ftl-sim").string(), "generate", "--seed", "4", "--teams", "8", "--out", file}).exit_code ==
        0);
    CHECK(read_tournament(file).matches.size() == 16);
}
