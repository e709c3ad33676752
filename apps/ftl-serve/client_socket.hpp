#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "ftl-serve/ready_set.hpp"

namespace ftlfeed::app {

/// A client's TCP socket, which never blocks. Keeps in mind what its ReadySet told, so that it is not asked for bytes that
/// cannot be there. Owns the descriptor. Threads: confined to the loop's.
class ClientSocket {
public:
    /// Takes over `socket`, a descriptor that does not block. Closed at once when the system has no memory to watch it.
    ClientSocket(int socket, ReadySet& ready, ReadySet::Owner& owner);
    ~ClientSocket() { close(); }
    ClientSocket(const ClientSocket&) = delete;
    ClientSocket& operator=(const ClientSocket&) = delete;

    [[nodiscard]] bool is_open() const { return socket_ >= 0; }
    /// The owner was told `events`.
    void note(std::uint32_t events);
    /// Bytes may be there, or the end of them.
    [[nodiscard]] bool may_receive() const { return may_receive_; }
    /// One recv(2). Returns how many bytes came, 0 when there are none now; nothing when the connection has ended.
    [[nodiscard]] std::optional<std::size_t> receive(char* into, std::size_t bytes_max);
    /// One send. Returns how many bytes were taken, of `first` and then of `second`; fewer than all when the socket holds no
    /// more, and then the owner is told when it does. Nothing when the connection has ended.
    [[nodiscard]] std::optional<std::size_t> send(std::string_view first, std::string_view second);
    /// What may be received is told again, after others had their turn.
    void tell_again() { ready_.tell_again(socket_, owner_); }
    /// The other side reads its end after all that was sent.
    void end_sending();
    void close();

private:
    int socket_;
    ReadySet& ready_;
    ReadySet::Owner& owner_;
    bool may_receive_ = false;
    bool has_ended_ = false;  ///< Behind the bytes that may still be there.
};

}  // namespace ftlfeed::app
