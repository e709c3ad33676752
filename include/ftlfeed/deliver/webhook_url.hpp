#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ftlfeed::deliver {

/// Where a webhook is. Its parts are kept apart, so that the host that the fence is asked about is the one that is
/// connected to. A value.
struct WebhookUrl {
    std::string scheme;       ///< `https` or `http`.
    std::string host;         ///< A name, an IPv4 address in any spelling, or an IPv6 address without its brackets.
    std::optional<int> port;  ///< None: the scheme's.
    std::string path;         ///< With its query; begins with `/`.

    /// Throws core::InvalidInput that names what is wrong: another scheme, user or password, a fragment, a port beyond
    /// 65535, a host of other characters (an international name is written in its ASCII form, xn--…), blanks, control
    /// characters, a backslash.
    static WebhookUrl parse(std::string_view text);
    /// The same rules for parts that were stored.
    void check() const;

    [[nodiscard]] std::string text() const;
    /// Without the path, which may be a secret: for messages.
    [[nodiscard]] std::string origin() const;

    bool operator==(const WebhookUrl&) const = default;
};

}  // namespace ftlfeed::deliver
