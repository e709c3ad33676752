// The receiver as a process, on a real socket.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"
#include "tcp.hpp"

using namespace ftl::test;

namespace {

class Receiving {
public:
    explicit Receiving(const std::string& script = "", const std::vector<std::string>& more = {}) {
        std::filesystem::create_directory(folder_ / "bodies");
        write_file(folder_ / "script", script);
        std::vector<std::string> command{
            app("ftl-sim").string(), "receive", "--http",    "0",        "--port-file",       path("port"), "--store",
            path("bodies"),          "--log",   path("log"), "--script", "@" + path("script")};
        command.insert(command.end(), more.begin(), more.end());
        process_.emplace(command);
        REQUIRE(wait_until([&] { return std::filesystem::exists(folder_ / "port"); }));
        port_ = static_cast<std::uint16_t>(std::stoi(read_file(folder_ / "port")));
    }
    /// Sends a POST on a connection of its own.
    [[nodiscard]] TcpSocket post(const std::string& file, const std::string& body, const std::string& more = "",
                                 const std::string& id = "1") const {
        auto socket = TcpSocket::connect(port_);
        socket.send("POST /in HTTP/1.1\r\nHost: x\r\nConnection: close\r\nwebhook-id: " + file + "-" + id +
                    "\r\nftl-file: " + file + "\r\nftl-version: 7\r\n" + more +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
        return socket;
    }
    [[nodiscard]] std::string log() const {
        return std::filesystem::exists(folder_ / "log") ? read_file(folder_ / "log") : "";
    }
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
    [[nodiscard]] Process& process() { return *process_; }

private:
    TempFolder folder_;
    std::optional<Process> process_;
    std::uint16_t port_ = 0;
};

}  // namespace

TEST_CASE("sim.webhook: a body is kept and logged before the answer comes") {
    Receiving receiving;
    CHECK(receiving.post("wc/calendar", "abc").receive_all().starts_with("HTTP/1.1 204 "));
    CHECK(read_file(receiving.path("bodies/wc~calendar")) == "abc");
    const auto log = receiving.log();
    for (const auto* part :
         {R"("path":"wc/calendar")", R"("bytes":3)", R"("webhook_id":"wc/calendar-1")", R"("ftl_version":"7")",
          R"("status":204)", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}) {
        CAPTURE(part);
        CHECK(log.find(part) != std::string::npos);
    }
    CHECK(receiving.post("wc/calendar", "", "ftl-event: retired\r\n").receive_all().starts_with("HTTP/1.1 204 "));
    CHECK(std::filesystem::exists(receiving.path("bodies/wc~calendar")));  // A repeated id: answered, not followed.
    CHECK(receiving.post("wc/calendar", "", "ftl-event: retired\r\n", "2").receive_all().starts_with("HTTP/1.1 204 "));
    CHECK_FALSE(std::filesystem::exists(receiving.path("bodies/wc~calendar")));
    CHECK(receiving.process().terminate().exit_code == 0);
}

TEST_CASE("sim.webhook: a name that could lead elsewhere is refused and nothing is kept") {
    Receiving receiving;
    for (const std::string name : {"../x", "/etc/passwd", ".hidden", "a b", ""}) {
        CAPTURE(name);
        CHECK(receiving.post(name, "abc").receive_all().starts_with("HTTP/1.1 400 "));
    }
    CHECK(std::filesystem::is_empty(receiving.path("bodies")));
}

TEST_CASE("sim.webhook: with secrets only what is signed is kept") {
    const TempFolder folder;
    write_file(folder / "secrets", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    Receiving receiving("", {"--secret-file", (folder / "secrets").string()});
    CHECK(receiving.post("wc/calendar", "abc").receive_all().starts_with("HTTP/1.1 401 "));
    CHECK(std::filesystem::is_empty(receiving.path("bodies")));
    CHECK(receiving.log().find(R"("signed":false)") != std::string::npos);
}

TEST_CASE("sim.webhook: it misbehaves as its script says and keeps what it read") {
    Receiving receiving(
        "1: status=429 retry-after=120; 2: html status=200; 3: reset; 4: close; 5: cut status=200 body=100; "
        "6: headers=60000 status=200; 7: status=304 html");
    const auto busy = receiving.post("a/b", "1").receive_all();
    CHECK(busy.starts_with("HTTP/1.1 429 "));
    CHECK(busy.find("Retry-After: 120\r\n") != std::string::npos);
    CHECK(receiving.post("a/b", "2").receive_all().find("<html>") != std::string::npos);
    CHECK_THROWS_WITH(static_cast<void>(receiving.post("a/c", "3").receive()), doctest::Contains("reset"));
    CHECK(read_file(receiving.path("bodies/a~c")) == "3");
    CHECK(receiving.post("a/d", "4").receive_all().empty());
    const auto cut = receiving.post("a/e", "5").receive_all();
    CHECK(cut.starts_with("HTTP/1.1 200 "));
    CHECK_FALSE(cut.ends_with(std::string(100, 'x')));
    CHECK(receiving.post("a/f", "6").receive_all().size() > 50'000);
    CHECK(receiving.post("a/g", "7").receive_all().starts_with("HTTP/1.1 304 "));
    CHECK(receiving.post("a/h", "8").receive_all().starts_with("HTTP/1.1 204 "));  // It is still there.
}

TEST_CASE("sim.webhook: it hangs before or after the body and drips on demand and others are served meanwhile") {
    Receiving receiving("1: hang-before; 2: hang-after; 3: drip=20 status=200");
    const auto before = receiving.post("a/b", "1");
    REQUIRE(wait_until([&] { return receiving.log().find("hang-before") != std::string::npos; }));
    const auto after = receiving.post("a/b", "2");
    REQUIRE(wait_until([&] { return receiving.log().find("hang-after") != std::string::npos; }));
    auto drips = receiving.post("a/b", "3");
    CHECK(drips.receive(1) == "H");
    CHECK(receiving.post("a/b", "4").receive_all().starts_with("HTTP/1.1 204 "));
    CHECK_FALSE(before.has_news(0));
    CHECK_FALSE(after.has_news(0));
    // A new script counts from 1 again.
    write_file(receiving.path("script"), "*: status=503\n");
    receiving.process().signal(SIGHUP);
    CHECK(wait_until([&] { return receiving.post("a/b", "5").receive_all().starts_with("HTTP/1.1 503 "); }));
}
