#include "cache/socket.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::cache {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using Tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {

ssl::context tls_context(const ConnectionSettings& settings) {
    ssl::context context(ssl::context::tls_client);
    context.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
    context.set_verify_mode(ssl::verify_peer);
    context.set_verify_callback(ssl::host_name_verification(settings.host));
    error_code error;
    if (settings.ca_file.empty()) {
        context.set_default_verify_paths(error);
    } else {
        context.load_verify_file(settings.ca_file, error);
    }
    if (error) throw core::InvalidInput("cannot read the certificates in " + settings.ca_file);
    return context;
}

class FenceCategory final : public std::error_category {
public:
    [[nodiscard]] const char* name() const noexcept override { return "fence"; }
    [[nodiscard]] std::string message(int /*code*/) const override {
        return "every address of this host is outside the fence";
    }
};

/// All that is left, in one call: by itself Asio would hand out 64 KiB at a time, and look for other work in between.
std::size_t rest_of(const error_code& error, std::size_t /*written*/) { return error ? 0 : SIZE_MAX; }

/// A client that knocks at a dead port of its own machine may be given that port itself, and is then connected to itself.
bool is_own_echo(const Tcp::socket& socket) {
    error_code error;
    const auto local = socket.local_endpoint(error);
    return !error && local == socket.remote_endpoint(error) && !error;
}

}  // namespace

/// Lives as long as an operation of it is pending.
class Socket::Impl : public std::enable_shared_from_this<Socket::Impl> {
    /// A handler that keeps this alive.
    auto told(Done done) {
        return [self = shared_from_this(), done = std::move(done)](error_code error, std::size_t bytes) {
            done(error, bytes);
        };
    }

public:
    Impl(asio::io_context& loop, const ConnectionSettings& settings)
        : host_(settings.host), port_(settings.port), may_connect_(settings.may_connect), resolver_(loop), tcp_(loop) {
        if (!settings.is_tls) return;
        context_.emplace(tls_context(settings));
        tls_.emplace(tcp_, *context_);
        // The name that it is asked for (RFC 6066, 3): an address is none, and a server may refuse it.
        error_code is_no_address;
        static_cast<void>(asio::ip::make_address(host_, is_no_address));
        if (is_no_address) SSL_set_tlsext_host_name(tls_->native_handle(), host_.c_str());
    }

    void connect(Connected done) {
        error_code is_no_address;
        const auto address = asio::ip::make_address(host_, is_no_address);
        if (!is_no_address) return connect_to({Tcp::endpoint(address, port_)}, std::move(done));
        resolver_.async_resolve(
            host_, std::to_string(port_),
            [self = shared_from_this(), done = std::move(done)](error_code error, const auto& found) mutable {
                if (self->is_closed_) error = asio::error::operation_aborted;
                if (error) return done(error);
                self->connect_to({found.begin(), found.end()}, std::move(done));
            });
    }

    void read_some(char* bytes, std::size_t bytes_max, Done done) {
        const auto into = asio::buffer(bytes, bytes_max);
        auto handler = told(std::move(done));
        if (tls_) return tls_->async_read_some(into, std::move(handler));
        tcp_.async_read_some(into, std::move(handler));
    }

    void write(std::string_view bytes, Done done) {
        const auto from = asio::buffer(bytes.data(), bytes.size());
        auto handler = told(std::move(done));
        if (tls_) return asio::async_write(*tls_, from, &rest_of, std::move(handler));
        asio::async_write(tcp_, from, &rest_of, std::move(handler));
    }

    void close() {
        is_closed_ = true;
        resolver_.cancel();
        error_code ignored;  // It may never have been open.
        tcp_.close(ignored);
    }

private:
    void connect_to(std::vector<Tcp::endpoint> targets, Connected done) {
        if (may_connect_) {
            std::erase_if(targets,
                          [this](const Tcp::endpoint& target) { return !may_connect_(target.address().to_string()); });
            // Never inside connect(), as all answers.
            if (targets.empty()) {
                return asio::post(tcp_.get_executor(), [done = std::move(done)] { done(fenced_off()); });
            }
        }
        targets_ = std::move(targets);
        asio::async_connect(tcp_, targets_,
                            [self = shared_from_this(), done = std::move(done)](error_code error, const auto&) mutable {
                                if (!error && is_own_echo(self->tcp_)) error = asio::error::connection_refused;
                                if (error) return done(error);
                                self->set_options();
                                self->shake_hands(std::move(done));
                            });
    }

    void set_options() {
        error_code ignored;  // A matter of speed, and of noticing a dead peer while nobody asks anything.
        tcp_.set_option(Tcp::no_delay(true), ignored);
        tcp_.set_option(asio::socket_base::keep_alive(true), ignored);
    }

    void shake_hands(Connected done) {
        if (!tls_) return done({});
        tls_->async_handshake(ssl::stream_base::client,
                              [self = shared_from_this(), done = std::move(done)](error_code error) { done(error); });
    }

    std::string host_;
    std::uint16_t port_;
    std::function<bool(std::string_view)> may_connect_;
    Tcp::resolver resolver_;
    std::vector<Tcp::endpoint> targets_;
    Tcp::socket tcp_;
    std::optional<ssl::context> context_;
    std::optional<ssl::stream<Tcp::socket&>> tls_;
    bool is_closed_ = false;
};

std::error_code Socket::fenced_off() {
    static const FenceCategory kCategory;
    return {1, kCategory};
}

Socket::Socket(asio::io_context& loop, const ConnectionSettings& settings)
    : impl_(std::make_shared<Impl>(loop, settings)) {}

Socket::~Socket() { close(); }

void Socket::connect(Connected done) { impl_->connect(std::move(done)); }
void Socket::read_some(char* bytes, std::size_t bytes_max, Done done) {
    impl_->read_some(bytes, bytes_max, std::move(done));
}
void Socket::write(std::string_view bytes, Done done) { impl_->write(bytes, std::move(done)); }
void Socket::close() { impl_->close(); }

}  // namespace ftlfeed::cache
