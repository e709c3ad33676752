#include "support/handler_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "support/temp_folder.hpp"

namespace ftl::test {
namespace {

/// False when the test is over.
bool wait_readable(int handle, const std::stop_token& stop) {
    pollfd look{handle, POLLIN, 0};
    while (!stop.stop_requested()) {
        if (poll(&look, 1, 10) > 0) return true;
    }
    return false;
}

std::runtime_error failure(const std::string& what) {
    return std::runtime_error("cannot " + what + ": " + std::strerror(errno));
}

sockaddr_in address_of(const std::string& text) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) throw std::runtime_error("cannot read " + text);
    return address;
}

void write_proc(const char* path, const std::string& text) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    const bool is_written = file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (file >= 0) ::close(file);
    if (!is_written) throw failure(std::string("write ") + path);
}

/// Name spaces of our own; without root a user name space gives the rights to make them.
void leave_network() {
    const auto user = getuid();
    const auto group = getgid();
    if (unshare(CLONE_NEWNS | CLONE_NEWNET) == 0) return;
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) throw failure("have a network of its own");
    write_proc("/proc/self/setgroups", "deny");
    write_proc("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write_proc("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
}

void bring_up(const std::vector<std::string>& addresses) {
    const int control = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(control, SIOCSIFFLAGS, &request) != 0) throw failure("bring lo up");
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        request = {};
        std::strcpy(request.ifr_name, ("lo:" + std::to_string(i + 1)).c_str());
        const auto address = address_of(addresses[i]);
        std::memcpy(&request.ifr_addr, &address, sizeof address);
        if (ioctl(control, SIOCSIFADDR, &request) != 0) throw failure("give lo the address " + addresses[i]);
    }
    ::close(control);
}

std::string run_apart(const std::vector<std::string>& addresses, const std::string& hosts,
                      const std::function<std::string()>& work) {
    try {
        leave_network();
        bring_up(addresses);
        if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) throw failure("keep mounts apart");
        if (mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) throw failure("mount /etc/hosts");
        return work();
    } catch (const std::exception& error) {
        return std::string("cannot: ") + error.what();
    }
}

}  // namespace

bool ServerSide::read_some(std::string& into, std::size_t most) const {
    if (!wait_readable(socket_, stop_)) return false;
    std::string bytes(most, '\0');
    const auto size = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (size <= 0) return false;
    into.append(bytes, 0, static_cast<std::size_t>(size));
    return true;
}

std::string ServerSide::read_head(std::string& rest) const {
    std::string head = std::move(rest);
    rest.clear();
    while (head.find("\r\n\r\n") == std::string::npos) {
        if (!read_some(head)) return "";
    }
    const auto end = head.find("\r\n\r\n") + 4;
    rest = head.substr(end);
    head.resize(end);
    return head;
}

std::string ServerSide::read_request() {
    auto request = read_head(ahead_);
    if (request.empty()) return "";
    const auto at = request.find("Content-Length: ");
    const auto length = at == std::string::npos ? 0 : std::stoul(request.substr(at + 16));
    std::string body = std::move(ahead_);
    ahead_.clear();
    while (body.size() < length) {
        if (!read_some(body)) return "";
    }
    ahead_ = body.substr(length);
    body.resize(length);
    return request + body;
}

void ServerSide::send(const std::string& bytes) const {
    std::string_view rest = bytes;
    while (!rest.empty()) {
        const auto sent = ::send(socket_, rest.data(), std::min<std::size_t>(rest.size(), 65536), MSG_NOSIGNAL);
        if (sent <= 0) return;
        rest.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void ServerSide::reset() {
    const linger at_once{1, 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ::close(socket_);
    socket_ = -1;
}

void ServerSide::hang() const {
    pollfd look{socket_, 0, 0};
    while (!stop_.stop_requested()) {
        if (poll(&look, 1, 10) > 0) return;  // The other side has reset or closed both ways.
    }
}

void ServerSide::wait_for_end() const {
    std::string ignored;
    while (read_some(ignored)) ignored.clear();
}

HandlerServer::HandlerServer(std::function<void(ServerSide&)> handler, const std::string& address)
    : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto where = address_of(address);
    socklen_t size = sizeof where;
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&where), size) != 0 || listen(listener_, 64) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size) != 0) {
        throw failure("listen on " + address);
    }
    port_ = ntohs(where.sin_port);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

HandlerServer::~HandlerServer() {
    thread_ = {};
    ::close(listener_);
}

void HandlerServer::run(const std::stop_token& stop) {
    while (wait_readable(listener_, stop)) {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) continue;
        ++connections_;
        ServerSide side(client, stop);
        handler_(side);
        if (side.socket() >= 0) ::close(client);
    }
}

std::string http_answer(int status, const std::string& headers, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           headers + "\r\n" + body;
}

std::string in_own_network(const std::vector<std::string>& addresses, const std::string& hosts,
                           const std::function<std::string()>& work) {
    const TempFolder folder;
    write_file(folder / "hosts", hosts);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw failure("make a pipe");
    const pid_t child = fork();
    if (child < 0) throw failure("fork");
    if (child == 0) {
        const auto said = run_apart(addresses, (folder / "hosts").string(), work);
        [[maybe_unused]] const auto written = ::write(ends[1], said.data(), said.size());
        _exit(0);
    }
    ::close(ends[1]);
    std::string said;
    std::array<char, 4096> bytes{};
    for (auto count = ::read(ends[0], bytes.data(), bytes.size()); count > 0;
         count = ::read(ends[0], bytes.data(), bytes.size())) {
        said.append(bytes.data(), static_cast<std::size_t>(count));
    }
    ::close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return said;
}

}  // namespace ftl::test
