#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace ftlfeed::sim {

/// Begins to listen; port 0 takes a free one. Throws std::runtime_error that names the address.
inline void listen_on(boost::asio::ip::tcp::acceptor& acceptor, const std::string& address, std::uint16_t port) {
    try {
        const boost::asio::ip::tcp::endpoint endpoint(boost::asio::ip::make_address(address), port);
        acceptor.open(endpoint.protocol());
        acceptor.set_option(boost::asio::socket_base::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen();
    } catch (const boost::system::system_error& error) {
        throw std::runtime_error("cannot listen on " + address + ":" + std::to_string(port) + ": " + error.what());
    }
}

/// Gives each client's socket to `take`, until the loop stops.
template <typename Take>
void accept_each(boost::asio::ip::tcp::acceptor& acceptor, Take take) {
    using boost::asio::ip::tcp;
    acceptor.async_accept([&acceptor, take](boost::system::error_code error, tcp::socket socket) {
        if (error == boost::asio::error::operation_aborted) return;
        if (!error) {
            socket.set_option(tcp::no_delay(true), error);
            take(std::move(socket));
        }
        accept_each(acceptor, take);
    });
}

}  // namespace ftlfeed::sim
