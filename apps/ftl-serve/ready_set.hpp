#pragma once

#include <sys/epoll.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cstddef>
#include <cstdint>

namespace ftlfeed::app {

/// Tells the owners of sockets what there is for them. Each thing is told once, when it comes (edge-triggered epoll): the
/// owner keeps it in mind until its socket shows that it is over. The loop sees one descriptor for all of them; by itself
/// Asio would try each read before it waits, which at a hit is a system call for nothing (adr/0016).
/// Threads: confined to the loop's.
class ReadySet {
public:
    /// Who owns a socket. It stays where it is until it was removed.
    class Owner {
    public:
        /// `events` as epoll_wait(2) gives them. May remove and add any socket, this one too.
        virtual void ready(std::uint32_t events) = 0;

    protected:
        Owner() = default;
        Owner(const Owner&) = default;
        Owner& operator=(const Owner&) = default;
        ~Owner() = default;
    };

    /// Throws core::Failure when the system has no descriptor left.
    explicit ReadySet(boost::asio::io_context& loop);
    ReadySet(const ReadySet&) = delete;
    ReadySet& operator=(const ReadySet&) = delete;

    /// Begins to tell, in the loop's turns. Call it once.
    void begin() { wait(); }

    /// Returns false when the system has no memory for it.
    [[nodiscard]] bool add(int socket, Owner& owner);
    /// Nothing is told of it any more, not even what came with others in one batch. Call it before the socket is closed.
    void remove(int socket, const Owner& owner);
    /// Tells all that is true of the socket once more, after the others had their turn.
    void tell_again(int socket, Owner& owner);

private:
    /// So many are told at most before others on the loop (Redis, timers) have their turn.
    static constexpr std::size_t kBatch = 128;

    void wait();
    void tell_batch();

    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> epoll_;
    std::array<epoll_event, kBatch> batch_{};
    std::size_t next_ = 0;  ///< Of the batch that is being told.
    std::size_t count_ = 0;
};

}  // namespace ftlfeed::app
