// Against the published npm library `standardwebhooks`, locked, installed into the build folder.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>

#include "webhook_sending.hpp"

using namespace ftl::test;
using namespace ftlfeed;
using namespace ftlfeed::deliver;

namespace {

/// The library, installed once for each build folder and lock file.
std::filesystem::path library() {
    const auto from = source_dir() / "tests/deliver/standardwebhooks";
    const auto folder = binary_dir() / "standardwebhooks";
    const auto lock = read_file(from / "package-lock.json");
    const auto is_there = [&] {
        return std::filesystem::exists(folder / "installed") && read_file(folder / "installed") == lock;
    };
    write_file(folder / "server.mjs", read_file(from / "server.mjs"));
    if (is_there()) return folder;
    write_file(folder / "package.json", read_file(from / "package.json"));
    write_file(folder / "package-lock.json", lock);
    ProcessOptions options;
    options.working_folder = folder;
    const auto done =
        run_command({"npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"}, options, std::chrono::seconds(90));
    REQUIRE_MESSAGE(done.exit_code == 0, "the npm registry cannot be reached, or the lock does not fit: ", done.errors);
    write_file(folder / "installed", lock);
    return folder;
}

class NodeReceiver {
public:
    explicit NodeReceiver(const std::string& secret)
        : process_({"node", (library() / "server.mjs").string(), (folder_ / "port").string(), secret}) {
        REQUIRE(wait_until([&] { return std::filesystem::exists(folder_ / "port"); }));
    }
    [[nodiscard]] int port() const { return std::stoi(read_file(folder_ / "port")); }

private:
    TempFolder folder_;
    Process process_;
};

/// What the library says to a body that these secrets sign.
std::string verdict(const NodeReceiver& receiver, const std::vector<std::string>& secrets, const std::string& body,
                    const core::Clock& clock = core::Clock::real()) {
    auto transport = webhook_transport(receiver.port(), clock, secrets);
    OpenGuard guard;
    const WebhookFile file(body);
    const auto outcome = transport.put(file.outgoing(), guard);
    if (std::holds_alternative<Stored>(outcome)) return "verified";
    return std::get<Refused>(outcome).reason;
}

}  // namespace

TEST_CASE("deliver.webhook: the published library standardwebhooks verifies what we sign") {
    const NodeReceiver receiver(kWebhookSecret);
    for (const std::string body :
         {"{}", R"({"a":"ä ✓ 😀","b":[1,2.50,null]})", "[ 1 ,\n 2 ]\n", "\"text\"", "{\"a\":\"\\u0000.\\\"\"}"}) {
        CAPTURE(body);
        CHECK(verdict(receiver, {kWebhookSecret}, body) == "verified");
    }
    CHECK(verdict(receiver, {kWebhookSecret}, "\"" + std::string(4'300'000, 'x') + "\"") == "verified");
}

TEST_CASE(
    "deliver.webhook: the published library takes either of two signatures and neither a strange nor an old one") {
    const NodeReceiver receiver(kWebhookSecret);
    CHECK(verdict(receiver, {kWebhookSecretNew, kWebhookSecret}, "{}") == "verified");
    CHECK(verdict(receiver, {kWebhookSecret, kWebhookSecretNew}, "{}") == "verified");
    CHECK(verdict(receiver, {kWebhookSecretNew}, "{}").find("No matching signature") != std::string::npos);
    const core::ManualClock six_minutes_ago(core::SteadyTime{} + std::chrono::hours(1),
                                            std::chrono::system_clock::now() - std::chrono::minutes(6));
    CHECK(verdict(receiver, {kWebhookSecret}, "{}", six_minutes_ago).find("too old") != std::string::npos);
}

TEST_CASE("deliver.webhook: the published library verifies the messages of ours that are no file") {
    const NodeReceiver receiver(kWebhookSecret);
    auto transport = webhook_transport(receiver.port(), core::Clock::real(), {kWebhookSecret});
    OpenGuard guard;
    const WebhookFile file("");
    CHECK(std::holds_alternative<Stored>(transport.remove(file.outgoing(), guard)));
    CHECK(std::holds_alternative<Stored>(transport.test(guard)));
}
