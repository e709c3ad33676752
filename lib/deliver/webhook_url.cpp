#include <ftlfeed/deliver/webhook_url.hpp>

#include <algorithm>
#include <charconv>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::deliver {
namespace {

constexpr std::size_t kPathBytesMax = 2000;

[[noreturn]] void refuse(const std::string& why) { throw core::InvalidInput("webhook URL: " + why); }

std::string lower(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return result;
}

int port_of(std::string_view digits) {
    int port = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, port);
    if (digits.empty() || digits.front() == '-' || error != std::errc() || stop != end || port < 1 || port > 65'535) {
        refuse("the port has to be 1 to 65535");
    }
    return port;
}

bool is_ipv6(std::string_view host) { return host.find(':') != std::string_view::npos; }

bool is_host_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}
bool is_ipv6_letter(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.'; }

/// Printable ASCII without what ends a line, a word or a URL.
bool is_path_letter(char c) {
    return c > 0x20 && c < 0x7f && c != '\\' && c != '#' && c != '"' && c != '<' && c != '>';
}

}  // namespace

WebhookUrl WebhookUrl::parse(std::string_view text) {
    WebhookUrl url;
    const auto scheme_end = text.find("://");
    if (scheme_end == std::string_view::npos) refuse("it begins with https:// or http://");
    url.scheme = lower(text.substr(0, scheme_end));
    const auto rest = text.substr(scheme_end + 3);
    const auto authority_end = std::min(rest.find_first_of("/?#"), rest.size());
    auto authority = rest.substr(0, authority_end);
    url.path = rest.substr(authority_end);
    if (url.path.empty() || url.path.front() != '/') url.path.insert(0, "/");
    if (authority.find('@') != std::string_view::npos) refuse("it may hold no user or password; requests are signed");
    if (authority.starts_with('[')) {
        const auto close = authority.find(']');
        if (close == std::string_view::npos) refuse("the address is not closed by ]");
        url.host = lower(authority.substr(1, close - 1));
        if (!is_ipv6(url.host)) refuse("in [ ] stands an IPv6 address");
        authority.remove_prefix(close + 1);
        if (!authority.empty() && authority.front() != ':') refuse("after ] comes : and a port, or nothing");
    } else {
        url.host = lower(authority.substr(0, authority.find(':')));
        authority.remove_prefix(std::min(url.host.size(), authority.size()));
    }
    if (!authority.empty()) url.port = port_of(authority.substr(1));
    url.check();
    return url;
}

void WebhookUrl::check() const {
    if (scheme != "https" && scheme != "http") refuse("it begins with https:// or http://");
    if (host.empty() || host.size() > 253) refuse("it has no host, or one of more than 253 bytes");
    if (!std::all_of(host.begin(), host.end(), is_ipv6(host) ? is_ipv6_letter : is_host_letter)) {
        refuse("the host " + core::json_quoted(core::shorten(host, 100)) +
               " has other characters than a-z, 0-9, '-', '.' and '_'; an international name is written as xn--…");
    }
    if (port && (*port < 1 || *port > 65'535)) refuse("the port has to be 1 to 65535");
    if (path.empty() || path.front() != '/' || path.size() > kPathBytesMax) {
        refuse("the path begins with / and has at most " + std::to_string(kPathBytesMax) + " bytes");
    }
    if (!std::all_of(path.begin(), path.end(), is_path_letter)) {
        refuse("the path holds a blank, a control character, a letter beyond ASCII or one of \\ # \" < >");
    }
}

std::string WebhookUrl::text() const { return origin() + path; }

std::string WebhookUrl::origin() const {
    return scheme + "://" + (is_ipv6(host) ? "[" + host + "]" : host) + (port ? ":" + std::to_string(*port) : "");
}

}  // namespace ftlfeed::deliver
