#pragma once

#include <cstdint>

#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::store {

/// Ends the wait of a call that has no limit of its own: from construction to destruction the socket is watched, and
/// shut down when `deadline` passes; the call then fails with a broken connection. libpqxx knows no deadline, and
/// neither statement_timeout nor tcp_user_timeout helps against a server process that was stopped.
/// `socket` is borrowed and must stay open meanwhile (use a duplicate that only the caller closes: libpq may close its own
/// and another thread get the same number).
/// Threads: one thread for the whole process watches all; each object is confined to its thread.
class SocketWatch {
public:
    SocketWatch(int socket, core::SteadyTime deadline);
    ~SocketWatch();
    SocketWatch(const SocketWatch&) = delete;
    SocketWatch& operator=(const SocketWatch&) = delete;

    /// Was it this watch that ended the connection?
    [[nodiscard]] bool has_fired() const;

private:
    std::uint64_t id_;
};

}  // namespace ftlfeed::store
