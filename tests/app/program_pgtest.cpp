#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/net/http_client.hpp>

#include "support/paths.hpp"
#include "support/pg.hpp"
#include "support/process.hpp"
#include "support/relay.hpp"
#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using ftl::test::Content;
using ftl::test::Database;
using ftl::test::Process;
using ftl::test::ProcessEnd;
using ftl::test::wait_until;
using std::chrono::seconds;

namespace {

constexpr ProcessEnd kDone{0, std::nullopt};
constexpr ProcessEnd kFailed{1, std::nullopt};

std::string service() { return ftl::test::app("ftl_test_service").string(); }

/// The test service on `uri`, with its log and its ops server.
struct Service {
    ftl::test::TempFolder folder;
    std::unique_ptr<Process> process;

    Service(const std::string& uri, const std::vector<std::string>& more = {},
            std::map<std::string, std::string> environment = {}) {
        std::vector<std::string> command{service(),     "--config",        folder / "config.toml", "--ops.address",
                                         "127.0.0.1:0", "--ops.port_file", folder / "port"};
        command.insert(command.end(), more.begin(), more.end());
        ftl::test::write_file(folder / "config.toml",
                              "[postgres]\nuri = '" + uri + "'\n[trial]\nloud = true\nwords = ['a']\n");
        ftl::test::ProcessOptions options;
        options.environment = std::move(environment);
        options.log = folder / "log";
        process = std::make_unique<Process>(command, options);
    }
    [[nodiscard]] std::string log() const {
        return std::filesystem::exists(folder / "log") ? ftl::test::read_file(folder / "log") : "";
    }
    [[nodiscard]] bool has_logged(const std::string& text) const { return log().find(text) != std::string::npos; }
    /// Status and body of a GET, 0 when there is no answer.
    [[nodiscard]] net::HttpResponse get(const std::string& path) const {
        try {
            net::HttpClient client(net::HttpLimits{});
            return client.get(
                "http://127.0.0.1:" + std::to_string(std::stoi(ftl::test::read_file(folder / "port"))) + path, {});
        } catch (const std::exception&) {
            return {};
        }
    }
    [[nodiscard]] bool is_ready() const { return get("/readyz").status == 200; }
};

int count_of(const std::string& text, const std::string& part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("app.program: it serves and drains at SIGTERM and exits 0") {
    const Database db;
    Service one(db.uri());
    REQUIRE(wait_until([&] { return one.is_ready(); }));
    CHECK(one.get("/healthz").status == 200);
    CHECK(db.value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = "
                   "'ftl_test_service/worker'") == "1");
    CHECK(one.process->terminate() == kDone);
    CHECK(one.has_logged("test.drained"));
    CHECK(one.has_logged("app.stopped"));
}

TEST_CASE("app.program: a server that is not up is waited for with one line and a reason") {
    const Database db;
    ftl::test::Relay relay(ftl::test::port_of(db.uri()));
    relay.drop_all(true);
    Service one(ftl::test::with_port(db.uri(), relay.port()));
    REQUIRE(wait_until([&] { return relay.accepted() >= 4; }));
    const auto waiting = one.get("/readyz");
    CHECK(waiting.status == 503);
    CHECK(waiting.body.find("\"name\":\"postgres\",\"ready\":false") != std::string::npos);
    CHECK(one.get("/healthz").status == 200);
    CHECK(count_of(one.log(), "app.waiting") == 1);
    relay.allow();
    CHECK(wait_until([&] { return one.is_ready(); }));
    CHECK(wait_until([&] { return one.has_logged("app.dependency_back"); }));

    // And again while it runs.
    relay.drop_all(true);
    REQUIRE(wait_until([&] { return one.get("/readyz").status == 503; }));
    CHECK(one.process->is_running());
    relay.allow();
    CHECK(wait_until([&] { return one.is_ready(); }));
    CHECK(wait_until([&] { return one.has_logged("app.worker_back"); }));
    CHECK(one.process->terminate() == kDone);
}

TEST_CASE("app.program: a stop while it waits for a server is a clean end") {
    Service one("postgresql://me@127.0.0.1:1/feed");
    REQUIRE(wait_until([&] { return one.has_logged("app.waiting"); }));
    CHECK(one.process->terminate() == kDone);
}

TEST_CASE("app.program: a database without our migrations is waited for and named") {
    const Database db(Content::kNothing);
    Service one(db.uri());
    REQUIRE(wait_until([&] { return one.get("/readyz").body.find("ftlctl migrate up") != std::string::npos; }));
    CHECK(one.process->terminate() == kDone);
}

TEST_CASE("app.program: a worker that dies and one that cannot go on end it with exit code 1") {
    const Database db;
    for (const auto& [mode, said] :
         {std::pair{"die", "the worker was told to die"}, {"refuse", "what cannot be retried"}}) {
        Service one(db.uri(), {"--trial.mode", mode});
        CHECK(one.process->wait() == kFailed);
        CHECK(one.has_logged("app.worker_died"));
        CHECK(one.has_logged(said));
    }
}

TEST_CASE("app.program: workers that have all ended end it with exit code 0") {
    const Database db;
    Service one(db.uri(), {"--trial.mode", "end"});
    CHECK(one.process->wait() == kDone);
}

TEST_CASE("app.program: a drain that takes too long ends it with exit code 1 and names the worker") {
    const Database db;
    Service one(db.uri(), {"--trial.mode", "hang", "--service.shutdown_seconds", "1"});
    REQUIRE(wait_until([&] { return one.is_ready(); }));
    CHECK(one.process->terminate() == kFailed);
    CHECK(one.has_logged("app.drain_overrun"));
}

TEST_CASE("app.program: a second Ctrl-C ends it at once and a second SIGTERM does not") {
    const Database db;
    Service one(db.uri(), {"--trial.mode", "hang", "--service.shutdown_seconds", "3600"});
    REQUIRE(wait_until([&] { return one.is_ready(); }));
    one.process->signal(SIGTERM);
    one.process->signal(SIGTERM);
    one.process->signal(SIGINT);
    REQUIRE(wait_until([&] { return one.has_logged("app.stop_asked"); }));
    CHECK(one.process->is_running());
    REQUIRE(wait_until([&] {
        one.process->signal(SIGINT);
        return !one.process->is_running();
    }));
    CHECK(one.process->wait() == ProcessEnd{130, std::nullopt});
}

TEST_CASE("app.program: SIGHUP reads the log's settings again and calls the program's own hook") {
    const Database db;
    Service one(db.uri());
    REQUIRE(wait_until([&] { return one.is_ready(); }));
    const auto config = ftl::test::read_file(one.folder / "config.toml");
    ftl::test::write_file(one.folder / "config.toml", config + "[log]\nform = 'text'\n");
    one.process->signal(SIGHUP);
    REQUIRE(wait_until([&] { return one.has_logged("test.reloaded"); }));
    CHECK(wait_until([&] { return one.has_logged("info    app.reloaded"); }));  // Text now: JSON before.
    CHECK(one.log().starts_with("{"));
    // What is wrong is refused, and the old settings stand.
    ftl::test::write_file(one.folder / "config.toml", config + "[log]\nlevel = 'loud'\n");
    one.process->signal(SIGHUP);
    REQUIRE(wait_until([&] { return one.has_logged("app.reload_refused"); }));
    CHECK(one.is_ready());
    CHECK(one.process->terminate() == kDone);
}

TEST_CASE("app.program: systemd hears of start and watchdog and stop") {
    const Database db;
    const ftl::test::TempFolder folder;
    const std::string path = folder / "notify";
    const int handle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(bind(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    std::string heard;
    const auto has_heard = [&](const std::string& text) {
        std::array<char, 200> bytes{};
        for (auto size = recv(handle, bytes.data(), bytes.size(), MSG_DONTWAIT); size > 0;
             size = recv(handle, bytes.data(), bytes.size(), MSG_DONTWAIT)) {
            heard.append(bytes.data(), static_cast<std::size_t>(size)) += '\n';
        }
        return heard.find(text) != std::string::npos;
    };
    Service one(db.uri(), {}, {{"NOTIFY_SOCKET", path}, {"WATCHDOG_USEC", "100000"}});
    CHECK(wait_until([&] { return has_heard("READY=1\n"); }));
    CHECK(wait_until([&] { return has_heard("WATCHDOG=1\nWATCHDOG=1\n"); }));
    CHECK_FALSE(has_heard("STOPPING=1\n"));
    CHECK(one.process->terminate() == kDone);
    CHECK(has_heard("STOPPING=1\n"));
    close(handle);
}

TEST_CASE("app.program: --check says what holds and what does not") {
    const Database db;
    const auto check = [](const std::vector<std::string>& more) {
        std::vector<std::string> command{service(), "--check"};
        command.insert(command.end(), more.begin(), more.end());
        return ftl::test::run_command(command);
    };
    const auto good = check({"--postgres.uri", db.uri()});
    CHECK(good.exit_code == 0);
    CHECK(good.output == "ok    settings\nok    postgres\nok    mode\n");
    const auto bad = check({"--postgres.uri", db.uri(), "--trial.mode", "die"});
    CHECK(bad.exit_code == 1);
    CHECK(bad.output.find("FAIL  mode: a worker that dies") != std::string::npos);
    const auto away = check({"--postgres.uri", "postgresql://me@127.0.0.1:1/feed"});
    CHECK(away.exit_code == 1);
    CHECK(away.output.find("FAIL  postgres: ") != std::string::npos);
    const Database empty(Content::kNothing);
    CHECK(check({"--postgres.uri", empty.uri()}).exit_code == 1);
}

TEST_CASE("app.program: help and version and wrong usage") {
    const auto run = [](const std::vector<std::string>& args) {
        std::vector<std::string> command{service()};
        command.insert(command.end(), args.begin(), args.end());
        return ftl::test::run_command(command);
    };
    CHECK(run({"--help"}).exit_code == 0);
    CHECK(run({"--help"}).output.starts_with("A service for tests.\n"));
    CHECK(run({"--help"}).output.find("--trial.mode") != std::string::npos);
    CHECK(run({"--version"}).output.starts_with("ftl_test_service "));
    for (const auto& [args, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{}, "postgres.uri is not set"},
             {{"--postgres.uri", "host=a", "word"}, "unknown argument word"},
             {{"--postgres.uri", "host=a", "--frobnicate"}, "unknown argument --frobnicate"},
             {{"--postgres.url", "host=a"}, "the nearest is postgres.uri"},
             {{"--postgres.uri", "host=a", "--trial.mode", "nonsense"}, "may not be nonsense"},
             {{"--postgres.uri", "postgresql://me:pw@a/b"}, "password_file"},
         }) {
        const auto result = run(args);
        CAPTURE(said);
        CHECK(result.exit_code == 2);
        CHECK(result.errors.find(said) != std::string::npos);
        CHECK(result.output.empty());
    }
}

TEST_CASE("app.alert_log: an alert raised by another process is logged once and its end once") {
    const Database db;
    Service one(db.uri());
    REQUIRE(wait_until([&] { return one.is_ready(); }));
    db.exec("INSERT INTO alert (kind, subject, severity, message) VALUES ('a.b', 's', 'warning', 'm')");
    REQUIRE(wait_until([&] { return one.has_logged("alert.raised"); }));
    db.exec("UPDATE alert SET cleared_at = now(), cleared_txid = pg_current_xact_id()");
    REQUIRE(wait_until([&] { return one.has_logged("alert.cleared"); }));
    CHECK(count_of(one.log(), "alert.raised") == 1);
    CHECK(one.process->terminate() == kDone);
}
