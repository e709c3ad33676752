#include <ftlfeed/deliver/host_fence.hpp>

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::deliver {
namespace {

constexpr std::array<std::uint8_t, 12> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool has_prefix(const std::uint8_t* bytes, const std::uint8_t* prefix, int bits) {
    const auto whole = static_cast<std::size_t>(bits / 8);
    if (std::memcmp(bytes, prefix, whole) != 0) return false;
    const int rest = bits % 8;
    if (rest == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
    return (bytes[whole] & mask) == (prefix[whole] & mask);
}

struct Range4 {
    std::array<std::uint8_t, 4> prefix;
    int bits;
};
// IANA IPv4 Special-Purpose Address Registry (RFC 6890 and later), multicast and the reserved rest.
constexpr std::array<Range4, 16> kSpecial4{{{{0, 0, 0, 0}, 8},
                                            {{10, 0, 0, 0}, 8},
                                            {{100, 64, 0, 0}, 10},
                                            {{127, 0, 0, 0}, 8},
                                            {{169, 254, 0, 0}, 16},
                                            {{172, 16, 0, 0}, 12},
                                            {{192, 0, 0, 0}, 24},
                                            {{192, 0, 2, 0}, 24},
                                            {{192, 88, 99, 0}, 24},
                                            {{192, 168, 0, 0}, 16},
                                            {{198, 18, 0, 0}, 15},
                                            {{198, 51, 100, 0}, 24},
                                            {{203, 0, 113, 0}, 24},
                                            {{224, 0, 0, 0}, 4},
                                            {{240, 0, 0, 0}, 4},
                                            {{255, 255, 255, 255}, 32}}};

bool is_special4(const std::uint8_t* bytes) {
    return std::any_of(kSpecial4.begin(), kSpecial4.end(),
                       [&](const Range4& range) { return has_prefix(bytes, range.prefix.data(), range.bits); });
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

/// `Host.Example.` and `host.example` are one name.
std::string canonical(std::string_view host) {
    auto name = lower(host);
    if (!name.empty() && name.back() == '.') name.pop_back();
    return name;
}

bool is_host_name(std::string_view name) {
    if (name.empty() || name.size() > 253) return false;
    const auto is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    };
    // A last label of digits alone is a number in some spelling (`127.1`, `2130706433`), never a name.
    const auto last = name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
    const bool ends_in_number =
        last.empty() || std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
    return std::all_of(name.begin(), name.end(), is_allowed) && name.front() != '.' && !ends_in_number &&
           name.find("..") == std::string_view::npos;
}

[[noreturn]] void refuse(const std::string& entry) {
    throw core::InvalidInput("host fence: cannot read " + core::json_quoted(core::shorten(entry, 100)) +
                             "; an entry is a host name, *.name, an address, a block (10.1.0.0/16) or *");
}

}  // namespace

std::optional<HostAddress> HostAddress::parse(std::string_view text) {
    const std::string terminated(text);
    if (terminated.find('\0') != std::string::npos) return std::nullopt;
    HostAddress address;
    std::array<std::uint8_t, 4> four{};
    if (inet_pton(AF_INET, terminated.c_str(), four.data()) == 1) {
        std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), address.bytes.begin());
        std::copy(four.begin(), four.end(), address.bytes.begin() + 12);
        return address;
    }
    if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) return address;
    return std::nullopt;
}

bool HostAddress::is_ipv4() const { return has_prefix(bytes.data(), kMappedPrefix.data(), 96); }

bool HostAddress::is_special() const {
    if (is_ipv4()) return is_special4(bytes.data() + 12);
    struct Range6 {
        std::array<std::uint8_t, 16> prefix;
        int bits;
    };
    static constexpr std::array<Range6, 8> kSpecial6{{
        {{0}, 96},                                   // ::, ::1 and the old "compatible" ::a.b.c.d
        {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48},  // local NAT64
        {{0x01, 0x00}, 64},                          // discard
        {{0x20, 0x01, 0x00}, 23},                    // protocol assignments, Teredo
        {{0x20, 0x01, 0x0d, 0xb8}, 32},              // documentation
        {{0xfc}, 7},                                 // unique local
        {{0xfe, 0x80}, 9},                           // link-local and the old site-local
        {{0xff}, 8},                                 // multicast
    }};
    for (const auto& range : kSpecial6) {
        if (has_prefix(bytes.data(), range.prefix.data(), range.bits)) return true;
    }
    // An IPv4 address inside decides: 64:ff9b::a.b.c.d (NAT64) and 2002:aabb:ccdd:: (6to4).
    static constexpr std::array<std::uint8_t, 12> kNat64{0x00, 0x64, 0xff, 0x9b};
    static constexpr std::array<std::uint8_t, 2> k6to4{0x20, 0x02};
    if (has_prefix(bytes.data(), kNat64.data(), 96)) return is_special4(bytes.data() + 12);
    if (has_prefix(bytes.data(), k6to4.data(), 16)) return is_special4(bytes.data() + 2);
    return false;
}

bool HostFence::Block::holds(const HostAddress& other) const {
    return has_prefix(other.bytes.data(), address.bytes.data(), bits);
}

HostFence::HostFence(const std::vector<std::string>& entries) {
    for (const auto& entry : entries) {
        if (entry == "*") {
            any_public_ = true;
            continue;
        }
        const auto slash = entry.find('/');
        if (const auto address = HostAddress::parse(std::string_view(entry).substr(0, slash))) {
            const int whole = address->is_ipv4() && entry.find(':') == std::string::npos ? 32 : 128;
            int bits = whole;
            if (slash != std::string::npos) {
                const char* end = entry.data() + entry.size();
                const auto [stop, error] = std::from_chars(entry.data() + slash + 1, end, bits);
                if (error != std::errc{} || stop != end || bits < 0 || bits > whole) refuse(entry);
            }
            blocks_.push_back({*address, bits + (128 - whole)});
            continue;
        }
        const auto name = canonical(entry.starts_with("*.") ? std::string_view(entry).substr(2) : entry);
        if (slash != std::string::npos || !is_host_name(name)) refuse(entry);
        if (entry.starts_with("*.")) {
            suffixes_.push_back("." + name);
        } else {
            names_.push_back(name);
        }
    }
}

bool HostFence::names(std::string_view host) const {
    const auto name = canonical(host);
    return std::find(names_.begin(), names_.end(), name) != names_.end() ||
           std::any_of(suffixes_.begin(), suffixes_.end(), [&](const std::string& suffix) {
               return name.size() > suffix.size() && name.ends_with(suffix);
           });
}

bool HostFence::allows(std::string_view host, const HostAddress& address) const {
    const auto holds = [&](const Block& block) { return block.holds(address); };
    if (std::any_of(blocks_.begin(), blocks_.end(), holds)) return true;
    return !address.is_special() && (any_public_ || names(host));
}

bool HostFence::may_name(std::string_view host) const {
    if (const auto address = HostAddress::parse(host)) return allows(host, *address);
    return any_public_ || !blocks_.empty() || names(host);
}

}  // namespace ftlfeed::deliver
