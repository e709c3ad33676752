#include "support/redis.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <stdexcept>

#include "support/free_port.hpp"
#include "support/wait.hpp"

namespace ftl::test {

namespace {

constexpr int kStartAttemptsMax = 5;

bool takes_connections(std::uint16_t port) {
    const int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_taken = connect(handle, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(handle);
    return is_taken;
}

}  // namespace

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) {
    for (int attempt = 0; attempt < kStartAttemptsMax; ++attempt) {
        port_ = free_port();
        start();
        if (has_started()) return;
    }
    throw std::runtime_error("no Redis has started: " + read_file(folder_ / "log"));
}

std::string RedisServer::uri() const { return "redis://127.0.0.1:" + std::to_string(port_); }

std::string RedisServer::cli(const std::vector<std::string>& words) const {
    std::vector<std::string> command{"redis-cli", "-p", std::to_string(port_)};
    command.insert(command.end(), words.begin(), words.end());
    const auto result = run_command(command);
    auto text = result.output + result.errors;
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

void RedisServer::start() {
    std::vector<std::string> command{"redis-server", "--bind", "127.0.0.1",    "--dir", folder_.path().string(),
                                     "--save",       "",       "--appendonly", "no"};
    // With TLS the options name the port that speaks it.
    bool has_tls = false;
    for (const auto& option : options_) has_tls = has_tls || option == "--tls-cert-file";
    command.insert(command.end(), {"--port", has_tls ? "0" : std::to_string(port_)});
    if (has_tls) command.insert(command.end(), {"--tls-port", std::to_string(port_)});
    command.insert(command.end(), options_.begin(), options_.end());
    process_ = std::make_unique<Process>(command, ProcessOptions{.log = folder_ / "log"});
    static_cast<void>(wait_until([&] { return takes_connections(port_) || !process_->is_running(); }));
}

/// Another one may have been faster to take the port: then that one takes the connections, and ours has ended.
bool RedisServer::has_started() {
    const auto is_up = [&] { return read_file(folder_ / "log").find("Running mode=") != std::string::npos; };
    return wait_until([&] { return !process_->is_running() || is_up(); }) && process_->is_running();
}

std::uint16_t shared_redis_port() {
    const char* text = std::getenv("FTL_TEST_REDIS");
    if (text == nullptr) throw std::runtime_error("FTL_TEST_REDIS is not set; tests/run.sh sets it");
    const std::string place = text;
    return static_cast<std::uint16_t>(std::stoi(place.substr(place.rfind(':') + 1)));
}

std::string unique_word() {
    std::random_device device;
    return fmt::format("t{:08x}{:08x}", device(), device());
}

}  // namespace ftl::test
