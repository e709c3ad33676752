#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <ftlfeed/core/secret.hpp>

namespace ftlfeed::cache {

/// How to reach a Redis, and the bounds of the conversation with it. One server that takes writes; a Redis Cluster is not
/// supported. A value.
struct ConnectionSettings {
    std::string host = "127.0.0.1";
    std::uint16_t port = 6379;
    int database = 0;
    std::string user;       ///< Empty: the default user.
    core::Secret password;  ///< Empty: none. Never in a log, an error or a metric.
    bool is_tls = false;
    std::string ca_file;           ///< PEM, for TLS; empty: the system's. The server's certificate has to name `host`.
    std::string name = "ftlfeed";  ///< Shown in CLIENT LIST: no space in it.
    /// From looking the host up to the answer to the last command of the greeting.
    std::chrono::milliseconds connect_timeout{3000};
    /// What CacheClient gives a request and its answer, the sending of its body included: more on a slow network.
    std::chrono::milliseconds request_timeout{2000};
    /// Before it connects again: full jitter below a ceiling that doubles from the first to the last.
    std::chrono::milliseconds backoff_first{50};
    std::chrono::milliseconds backoff_max{2000};
    /// Asked with each numeric address that the host resolves to, before it is connected to. Unset: any.
    std::function<bool(std::string_view address)> may_connect;
    std::size_t requests_max = 100'000;                       ///< Waiting for their answers at once.
    std::size_t request_bytes_max = std::size_t{256} << 20U;  ///< Waiting to be written.
    std::size_t reply_bytes_max = std::size_t{64} << 20U;     ///< Of one answer.

    /// Reads `redis://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE]`, or `rediss://` for TLS; user and password may be
    /// percent-encoded. `password_file` beats the text's password (see core::read_secret); empty = as the text says.
    /// Throws core::InvalidInput that never repeats the text, since a password may be in it.
    [[nodiscard]] static ConnectionSettings parse(std::string_view uri, const std::string& password_file = "");

    /// `HOST:PORT`, for messages.
    [[nodiscard]] std::string place() const;
};

}  // namespace ftlfeed::cache
