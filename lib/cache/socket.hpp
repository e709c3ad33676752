#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>

#include <ftlfeed/cache/connection_settings.hpp>

namespace boost::asio {
class io_context;
}

namespace ftlfeed::cache {

/// One TCP connection, plain or TLS, on Asio. Threads: confined to the loop's.
/// Each operation calls its handler exactly once, from the loop and never inside the call; after close() with an error
/// at the latest. What it reads into or writes from is borrowed until then.
class Socket {
public:
    using Connected = std::function<void(std::error_code)>;
    using Done = std::function<void(std::error_code, std::size_t bytes)>;

    /// `settings` are borrowed for the call alone. Throws core::InvalidInput when the CA file cannot be read.
    Socket(boost::asio::io_context& loop, const ConnectionSettings& settings);
    /// As close().
    ~Socket();
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    /// Looks the host up, connects to the first address that answers, and shakes hands when it is TLS.
    void connect(Connected done);
    /// What connect() ends with when `may_connect` allows none of the host's addresses.
    [[nodiscard]] static std::error_code fenced_off();
    /// As many bytes as are there, 1 at least.
    void read_some(char* bytes, std::size_t bytes_max, Done done);
    /// All of them.
    void write(std::string_view bytes, Done done);
    void close();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace ftlfeed::cache
