#include "common/sd_notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ftlfeed::app {

namespace {

std::string value_of(const std::map<std::string, std::string>& environment, const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? "" : found->second;
}

std::optional<std::chrono::milliseconds> half_interval(const std::string& microseconds, const std::string& pid) {
    if (!pid.empty() && pid != std::to_string(getpid())) return std::nullopt;  // Meant for another process.
    std::int64_t whole = 0;
    const auto [end, error] = std::from_chars(microseconds.data(), microseconds.data() + microseconds.size(), whole);
    if (error != std::errc() || end != microseconds.data() + microseconds.size() || whole <= 0) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::microseconds(whole / 2));
}

}  // namespace

SystemdNotifier::SystemdNotifier(const std::map<std::string, std::string>& environment)
    : socket_(value_of(environment, "NOTIFY_SOCKET")),
      watchdog_interval_(half_interval(value_of(environment, "WATCHDOG_USEC"), value_of(environment, "WATCHDOG_PID"))) {
    if (socket_.empty()) watchdog_interval_.reset();
}

void SystemdNotifier::send(const std::string& state) const noexcept {
    sockaddr_un address{};
    if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, socket_.data(), socket_.size());
    if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // The abstract namespace is written so.
    const int handle = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (handle < 0) return;
    sendto(handle, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size()));
    close(handle);
}

}  // namespace ftlfeed::app
