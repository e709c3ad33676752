#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include <ftlfeed/cache/connection_settings.hpp>

#include "cache/command.hpp"
#include "cache/reply.hpp"

namespace boost::asio {
class io_context;
}

namespace ftlfeed::cache {

/// One connection to Redis that many callers share as one pipeline. It connects at once, greets (AUTH, SELECT, CLIENT
/// SETNAME, INFO), and connects again by itself with back-off whenever it broke.
///
/// Any error and any time-out throws the whole connection away, so that no late answer can be read as another's: every
/// waiting caller then gets one failure, once. That failure is in_doubt() for a command that may change something and was
/// handed to the socket, and unavailable() for all others.
///
/// Threads: confined to the loop's thread, its end too; it may be made before the loop runs. The loop has to run for
/// handlers to be called.
class Connection {
public:
    /// Called exactly once, from the loop and never inside request(). May call request(), and may destroy the connection.
    /// Must not throw.
    using Handler = std::function<void(ReplyResult)>;
    /// Has the request been handed to the socket? False until then, true for ever after.
    using Written = std::shared_ptr<const bool>;

    /// Who answers at the other end.
    struct Server {
        std::string run_id;             ///< Another one after each restart of Redis; empty when it may not be read.
        std::uint64_t connections = 0;  ///< How often it has connected: more than 1 means again.
    };
    /// Both are called from the loop, before any handler hears of it, and must not throw.
    struct Events {
        std::function<void(const Server&)> on_up;
        /// Once for each connection, or attempt at one, that failed. Its time of back-off begins.
        std::function<void(const core::Failure&)> on_down;
    };
    enum class State {
        kConnecting,  ///< Or greeting.
        kUp,          ///< Requests are taken.
        kDown,        ///< Waits before it connects again.
        kClosed,
    };

    Connection(boost::asio::io_context& loop, ConnectionSettings settings, Events events = {},
               std::uint64_t jitter_seed = std::random_device{}());
    /// As close().
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Sends `command` behind those before it; what is given within one turn of the loop goes out in one write.
    /// `limit` counts from now to the answer, a day at most. While the connection is not up the handler soon gets unavailable(), and
    /// beyond requests_max or request_bytes_max busy(): neither was sent. An error that Redis answers is a failure of this
    /// request alone (see cache_failure), unless it says that the server is the wrong one.
    Written request(const Command& command, std::chrono::milliseconds limit, Handler handler);

    [[nodiscard]] State state() const;
    /// The last one that it was connected to.
    [[nodiscard]] const Server& server() const;
    /// Requests that wait for their answers.
    [[nodiscard]] std::size_t waiting() const;

    /// For good: all that wait get their failure before it returns.
    void close();

private:
    class Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace ftlfeed::cache
