#pragma once

#include <cstdint>
#include <string>

namespace ftlfeed::app {

/// Where a server listens.
struct ListenAddress {
    std::string ip;  ///< IPv4 or IPv6, without brackets.
    std::uint16_t port = 0;
};

/// Reads `IP:PORT` or `[IPv6]:PORT`. Throws core::InvalidInput that names the setting.
[[nodiscard]] ListenAddress parse_listen_address(const std::string& setting, const std::string& address);

}  // namespace ftlfeed::app
