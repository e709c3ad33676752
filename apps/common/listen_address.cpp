#include "common/listen_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::app {
namespace {

bool is_ip(const std::string& text) {
    in6_addr bytes{};
    return inet_pton(AF_INET, text.c_str(), &bytes) == 1 || inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

}  // namespace

ListenAddress parse_listen_address(const std::string& setting, const std::string& address) {
    const auto refuse = [&] {
        return core::InvalidInput(setting + " is " + core::json_quoted(core::shorten(address, 100)) +
                                  "; write IP:PORT, such as 127.0.0.1:9100 or [::1]:9100");
    };
    const auto colon = address.rfind(':');
    if (colon == std::string::npos) throw refuse();
    ListenAddress found{address.substr(0, colon), 0};
    if (found.ip.size() > 2 && found.ip.front() == '[' && found.ip.back() == ']') {
        found.ip = found.ip.substr(1, found.ip.size() - 2);
    }
    const char* end = address.data() + address.size();
    const auto read = std::from_chars(address.data() + colon + 1, end, found.port);
    if (!is_ip(found.ip) || read.ec != std::errc() || read.ptr != end) throw refuse();
    return found;
}

}  // namespace ftlfeed::app
