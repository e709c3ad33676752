#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ftlfeed/core/failure.hpp>

#include "common/common_settings.hpp"
#include "common/help.hpp"
#include "common/main_guard.hpp"
#include "common/outage.hpp"
#include "common/readiness.hpp"
#include "common/sd_notify.hpp"
#include "support/paths.hpp"
#include "support/temp_folder.hpp"

using namespace ftlfeed;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("app.outage: it is logged at once and then every 30 s and once when it is over") {
    const core::ManualClock clock;
    const auto begin = clock.steady_now();
    app::Outage outage;
    CHECK_FALSE(outage.recovered());
    CHECK(outage.failed(begin));
    CHECK_FALSE(outage.failed(begin + milliseconds(29'999)));
    CHECK(outage.failed(begin + seconds(30)));
    CHECK_FALSE(outage.failed(begin + seconds(59)));
    CHECK(outage.failures() == 4);
    CHECK(outage.recovered());
    CHECK_FALSE(outage.recovered());
    CHECK(outage.failures() == 0);
    CHECK(outage.failed(begin + seconds(60)));
}

TEST_CASE("app.readiness: ready when all are and each says its reason") {
    app::Readiness readiness;
    CHECK_FALSE(readiness.is_ready());
    readiness.set_ready("postgres");
    CHECK(readiness.is_ready());
    readiness.set_waiting("provider", "say \"no\"");
    CHECK_FALSE(readiness.is_ready());
    CHECK(readiness.json() ==
          "{\"ready\":false,\"checks\":[{\"name\":\"postgres\",\"ready\":true,\"reason\":null},"
          "{\"name\":\"provider\",\"ready\":false,\"reason\":\"say \\\"no\\\"\"}]}\n");
    readiness.set_ready("provider");
    CHECK(readiness.is_ready());
}

TEST_CASE("app.main_guard: what the body throws becomes an exit code") {
    CHECK(app::main_guard("p", [] { return 0; }) == 0);
    CHECK(app::main_guard("p", []() -> int { throw core::InvalidInput("usage"); }) == 2);
    CHECK(app::main_guard("p", []() -> int { throw core::Failure::unavailable("away"); }) == 1);
    CHECK(app::main_guard("p", []() -> int { throw std::runtime_error("odd"); }) == 1);
    CHECK(app::main_guard("p", []() -> int { throw 7; }) == 1);
}

TEST_CASE("app.settings: a password is refused where others can read it") {
    const std::string open = "postgresql://me:hunter2@db/feed";
    const auto refusal = [](const std::vector<std::string>& args,
                            const std::map<std::string, std::string>& environment) {
        try {
            app::refuse_open_password(args, environment);
        } catch (const core::InvalidInput& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(refusal({"--postgres.uri", "postgresql://me@db/feed"}, {{"FTL_POSTGRES_URI", "host=db"}}) == "");
    for (const auto& text : {refusal({"--postgres.uri", open}, {}), refusal({"--postgres.uri=" + open}, {}),
                             refusal({}, {{"FTL_POSTGRES_URI", open}})}) {
        CHECK(text.find("postgres.password_file") != std::string::npos);
        CHECK(text.find("hunter2") == std::string::npos);
    }
}

TEST_CASE("app.settings: they are complete with a URI and known names and not otherwise") {
    app::CommonSettings settings;
    CHECK_THROWS_AS(settings.complete(), core::InvalidInput);
    settings.postgres.uri = "host=db";
    settings.complete();
    const ftl::test::TempFolder folder;
    ftl::test::write_file(folder / "pw", "hunter2\n");
    settings.postgres_password_file = folder / "pw";
    settings.complete();
    CHECK(settings.postgres.password.reveal() == "hunter2");
    settings.log_level = "loud";
    CHECK_THROWS_AS(settings.complete(), core::InvalidInput);
    settings.log_level = "debug";
    settings.log_form = "xml";
    CHECK_THROWS_AS(settings.complete(), core::InvalidInput);
    settings.log_form = "json";
    CHECK(settings.log("p").level == core::LogLevel::kDebug);
    CHECK(settings.log("p").form == core::LogSettings::Form::kJson);
    settings.postgres.uri = "nonsense";
    CHECK_THROWS_AS(settings.complete(), core::InvalidInput);
}

TEST_CASE("app.settings: every common setting is in the help and in docs/configuration.md with its default") {
    app::CommonSettings common;
    core::Settings settings;
    common.bind(settings);
    const auto help = app::help_text("ftl-x", "What it does.", settings);
    const auto docs = ftl::test::read_file(ftl::test::source_dir() / "docs" / "configuration.md");
    CHECK(help.starts_with("What it does.\n"));
    for (const auto& known : settings.describe()) {
        CAPTURE(known.key);
        CHECK(help.find("--" + known.key + "\n") != std::string::npos);
        const auto row = docs.find("| `" + known.key + "` |");
        REQUIRE(row != std::string::npos);
        const auto line = docs.substr(row, docs.find('\n', row) - row);
        if (!known.default_text.empty()) CHECK(line.find("| " + known.default_text + " |") != std::string::npos);
    }
}

TEST_CASE("app.systemd: each state is one datagram to its socket by path or by abstract name") {
    const ftl::test::TempFolder folder;
    const std::string path = folder / "notify";
    const std::string abstract_name = "@ftl-test-" + std::to_string(getpid());
    for (const auto& name : {path, abstract_name}) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name.data(), name.size());
        if (name[0] == '@') address.sun_path[0] = '\0';
        const int handle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
        REQUIRE(bind(handle, reinterpret_cast<const sockaddr*>(&address), size) == 0);
        const app::SystemdNotifier notifier(
            std::map<std::string, std::string>{{"NOTIFY_SOCKET", name}, {"WATCHDOG_USEC", "3000000"}});
        notifier.send("READY=1");
        std::array<char, 100> bytes{};
        CHECK(recv(handle, bytes.data(), bytes.size(), MSG_DONTWAIT) == 7);
        CHECK(std::string(bytes.data()) == "READY=1");
        CHECK(notifier.watchdog_interval() == milliseconds(1500));
        close(handle);
    }
}

TEST_CASE("app.systemd: outside systemd and for another's watchdog it does nothing") {
    CHECK_FALSE(app::SystemdNotifier(std::map<std::string, std::string>{}).watchdog_interval());
    using Environment = std::map<std::string, std::string>;
    app::SystemdNotifier(Environment{}).send("READY=1");
    app::SystemdNotifier(Environment{{"NOTIFY_SOCKET", "/nowhere/at/all"}}).send("READY=1");
    app::SystemdNotifier(Environment{{"NOTIFY_SOCKET", std::string(500, 'x')}}).send("READY=1");
    CHECK_FALSE(
        app::SystemdNotifier(Environment{{"NOTIFY_SOCKET", "/x"}, {"WATCHDOG_USEC", "1000"}, {"WATCHDOG_PID", "1"}})
            .watchdog_interval());
    for (const char* bad : {"", "x", "-5", "0", "1x"}) {
        CHECK_FALSE(
            app::SystemdNotifier(Environment{{"NOTIFY_SOCKET", "/x"}, {"WATCHDOG_USEC", bad}}).watchdog_interval());
    }
}
