#include "provider_server.hpp"

#include <libdeflate.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "listening.hpp"

namespace ftlfeed::sim {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

constexpr std::size_t kGzipBytesMin = 256;
constexpr int kGzipLevel = 1;

std::string gzipped(const std::string& plain) {
    const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
        libdeflate_alloc_compressor(kGzipLevel), &libdeflate_free_compressor);
    std::string packed(libdeflate_gzip_compress_bound(compressor.get(), plain.size()), '\0');
    packed.resize(libdeflate_gzip_compress(compressor.get(), plain.data(), plain.size(), packed.data(), packed.size()));
    return packed;
}

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

/// One connection of a reader. Lives as long as a handler of it is pending.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket socket, Provider& provider) : stream_(std::move(socket)), provider_(provider) {}

    void read() {
        request_ = {};
        http::async_read(stream_, buffer_, request_, [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (!error) self->answer();
        });
    }

private:
    void answer() {
        const ProviderRequest request{text(request_.method_string()), text(request_.target()),
                                      text(request_[http::field::authorization]), text(request_[http::field::host])};
        answer_ = provider_.answer(request, Provider::Moment::clock::now());
        if (answer_.fault == Fault::kNothing) return close();
        response_ = {};
        response_.version(request_.version());
        response_.result(static_cast<unsigned>(answer_.status));
        response_.set(http::field::content_type, answer_.content_type);
        response_.set(http::field::cache_control, "no-cache, private");
        response_.set(http::field::vary, "Authorization, Accept-Encoding");
        for (const auto& [name, value] : answer_.headers) response_.set(name, value);
        response_.keep_alive(request_.keep_alive());
        response_.body() = answer_.body;
        const bool wants_gzip = request_[http::field::accept_encoding].find("gzip") != beast::string_view::npos;
        if (wants_gzip && answer_.body.size() >= kGzipBytesMin) {
            response_.set(http::field::content_encoding, "gzip");
            response_.body() = gzipped(answer_.body);
        }
        response_.prepare_payload();
        if (answer_.fault == Fault::kHalf) return write_half();
        http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (error) return;
            // Whole for this side: the kernel has taken every byte.
            self->provider_.delivered(self->answer_);
            self->response_.keep_alive() ? self->read() : self->close();
        });
    }

    /// The head promises the whole body.
    void write_half() {
        std::ostringstream head;
        head << response_.base();
        half_ = head.str() + response_.body().substr(0, response_.body().size() / 2);
        asio::async_write(stream_, asio::buffer(half_),
                          [self = shared_from_this()](beast::error_code, std::size_t) { self->close(); });
    }

    void close() {
        // The reader may be gone already, and then there is nothing left to end.
        beast::error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }

    beast::tcp_stream stream_;
    Provider& provider_;
    beast::flat_buffer buffer_;
    http::request<http::string_body> request_;
    ProviderAnswer answer_;
    http::response<http::string_body> response_;
    std::string half_;
};

}  // namespace

struct ProviderServer::State {
    State(Provider played, const std::string& address, std::uint16_t port)
        : provider(std::move(played)), acceptor(context) {
        listen_on(acceptor, address, port);
    }

    void accept() {
        accept_each(acceptor,
                    [this](tcp::socket socket) { std::make_shared<Session>(std::move(socket), provider)->read(); });
    }

    Provider provider;
    asio::io_context context{1};
    tcp::acceptor acceptor;
};

ProviderServer::ProviderServer(Provider provider, const std::string& address, std::uint16_t port)
    : state_(std::make_unique<State>(std::move(provider), address, port)) {
    state_->accept();
}

ProviderServer::~ProviderServer() = default;

std::uint16_t ProviderServer::port() const { return state_->acceptor.local_endpoint().port(); }

void ProviderServer::run() { state_->context.run(); }

void ProviderServer::stop() { state_->context.stop(); }

}  // namespace ftlfeed::sim
