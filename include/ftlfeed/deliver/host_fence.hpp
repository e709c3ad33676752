#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::deliver {

/// A numeric address in IPv6 form; IPv4 is kept as ::ffff:a.b.c.d, so that the two spellings of one address are equal.
struct HostAddress {
    std::array<std::uint8_t, 16> bytes{};

    /// Reads a numeric IPv4 (four decimal parts, nothing else) or IPv6 address. None for anything else, names included.
    static std::optional<HostAddress> parse(std::string_view text);
    [[nodiscard]] bool is_ipv4() const;
    /// Loopback, private, link-local, carrier-grade NAT, multicast, unspecified, documentation … and IPv6 forms that
    /// carry such an IPv4 address inside (NAT64, 6to4): what a client's host name must not lead us to.
    [[nodiscard]] bool is_special() const;

    auto operator<=>(const HostAddress&) const = default;
};

/// The hosts that this installation may send to. Entries: a host name (`ftp.example.com`), all names below one
/// (`*.example.com`), an address, a block (`10.1.0.0/16`), or `*` for every public address. Special addresses (private,
/// loopback …) are let through only by an entry that names their address or block, never by a name or `*`.
/// Nothing listed: nothing may be sent anywhere. Immutable.
class HostFence {
public:
    /// Throws core::InvalidInput naming the entry that cannot be read.
    explicit HostFence(const std::vector<std::string>& entries);

    /// Is this destination's host, which was resolved to `address`, one that we may connect to? Called at connect time
    /// with the address that is really connected to, for FTP's data connections too. Pure.
    [[nodiscard]] bool allows(std::string_view host, const HostAddress& address) const;
    /// Before resolving: could any address of this host be allowed? For an early, clear error.
    [[nodiscard]] bool may_name(std::string_view host) const;

private:
    struct Block {
        HostAddress address;
        int bits = 128;
        [[nodiscard]] bool holds(const HostAddress& other) const;
    };
    [[nodiscard]] bool names(std::string_view host) const;

    bool any_public_ = false;
    std::vector<std::string> names_;
    std::vector<std::string> suffixes_;  ///< With the leading dot.
    std::vector<Block> blocks_;
};

}  // namespace ftlfeed::deliver
