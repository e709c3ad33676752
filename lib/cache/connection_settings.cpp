#include <ftlfeed/cache/connection_settings.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::cache {

namespace {

constexpr int kDatabaseMax = 65535;

core::InvalidInput refusal(const std::string& part) {
    return core::InvalidInput("the Redis URI has " + part + "; write redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]");
}

/// Takes what stands before `mark` off the front of `text`; nothing when there is no mark.
std::optional<std::string_view> take_before(std::string_view& text, std::size_t mark) {
    if (mark == std::string_view::npos) return std::nullopt;
    const auto taken = text.substr(0, mark);
    text.remove_prefix(mark + 1);
    return taken;
}

template <typename Number>
Number number_of(std::string_view text, Number least, Number most, const std::string& part) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) throw refusal(part);
    return value;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        unsigned byte = 0;
        const auto digits = text.substr(i + 1, 2);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) throw refusal("a wrong %XX");
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

void read_credentials(std::string_view text, ConnectionSettings& settings) {
    const auto user = take_before(text, text.find(':'));
    // Without a colon it would be a user without a password, or a password that somebody forgot the colon of.
    if (!user) throw refusal("no colon before its password");
    settings.user = percent_decoded(*user);
    settings.password = core::Secret(percent_decoded(text));
}

/// `HOST`, `HOST:PORT`, `[IPV6]:PORT`.
void read_address(std::string_view text, ConnectionSettings& settings) {
    if (text.starts_with('[')) {
        text.remove_prefix(1);
        const auto host = take_before(text, text.find(']'));
        if (!host) throw refusal("no ] after its address");
        settings.host = *host;
        if (text.empty()) return;
        if (text.front() != ':') throw refusal("something between its address and its port");
        text.remove_prefix(1);
    } else if (const auto host = take_before(text, text.find(':'))) {
        settings.host = *host;
    } else {
        settings.host = text;
        return;
    }
    settings.port = number_of<std::uint16_t>(text, 1, UINT16_MAX, "a port that is none");
}

}  // namespace

ConnectionSettings ConnectionSettings::parse(std::string_view uri, const std::string& password_file) {
    ConnectionSettings settings;
    settings.is_tls = uri.starts_with("rediss://");
    if (!settings.is_tls && !uri.starts_with("redis://")) throw refusal("another scheme");
    uri.remove_prefix(uri.find("//") + 2);
    // A password may hold a slash or an @ by mistake of its writer: the last @ ends it.
    if (const auto credentials = take_before(uri, uri.rfind('@'))) read_credentials(*credentials, settings);
    const auto slash = uri.find('/');
    read_address(uri.substr(0, slash), settings);
    const bool is_host = !settings.host.empty() && std::none_of(settings.host.begin(), settings.host.end(), [](char c) {
        return c <= ' ' || c == '/' || c == '@' || c == '?' || c == '#' || c == 0x7F;
    });
    if (!is_host) throw refusal("no host");
    if (slash != std::string_view::npos && slash + 1 < uri.size()) {
        settings.database = number_of<int>(uri.substr(slash + 1), 0, kDatabaseMax, "a database that is no number");
    }
    if (!password_file.empty()) settings.password = core::read_secret(password_file);
    return settings;
}

std::string ConnectionSettings::place() const {
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return (is_ipv6 ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

}  // namespace ftlfeed::cache
