#include "common/ops_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>
#include <utility>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/metrics.hpp>

#include "common/listen_address.hpp"

namespace ftlfeed::app {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Tcp = asio::ip::tcp;

namespace {

constexpr std::chrono::seconds kRequestLimit{5};
constexpr std::uint32_t kHeaderBytesMax = 8192;
constexpr int kConnectionsMax = 32;

using Response = http::response<http::string_body>;

Response answer(const Readiness& readiness, const http::request<http::empty_body>& request) {
    Response response(http::status::ok, request.version());
    response.keep_alive(false);
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    const auto path = request.target().substr(0, request.target().find('?'));
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
        response.result(http::status::method_not_allowed);
        response.set(http::field::allow, "GET, HEAD");
    } else if (path == "/healthz") {
        response.body() = "ok\n";
    } else if (path == "/readyz") {
        response.result(readiness.is_ready() ? http::status::ok : http::status::service_unavailable);
        response.set(http::field::content_type, "application/json");
        response.body() = readiness.json();
    } else if (path == "/metrics") {
        response.set(http::field::content_type, "text/plain; version=0.0.4; charset=utf-8");
        response.body() = core::metrics_text();
    } else {
        response.result(http::status::not_found);
        response.body() = "there are /healthz, /readyz and /metrics\n";
    }
    response.prepare_payload();
    if (request.method() == http::verb::head) response.body().clear();
    return response;
}

/// One request and its answer. Lives as long as one of its handlers waits.
class Exchange : public std::enable_shared_from_this<Exchange> {
public:
    Exchange(Tcp::socket socket, const Readiness& readiness, int& open)
        : stream_(std::move(socket)), readiness_(readiness), open_(open) {
        ++open_;
        parser_.header_limit(kHeaderBytesMax);
    }
    ~Exchange() { --open_; }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void begin() {
        stream_.expires_after(kRequestLimit);
        http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
            // A request that is none, or did not come in time: closing is all the answer it gets.
            if (!error) self->send();
        });
    }

private:
    void send() {
        response_ = answer(readiness_, parser_.get());
        http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, std::size_t) {
            beast::error_code ignored;  // The other side may be gone already.
            self->stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
        });
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    http::request_parser<http::empty_body> parser_;
    Response response_;
    const Readiness& readiness_;
    int& open_;
};

Tcp::endpoint endpoint_of(const std::string& address) {
    const auto found = parse_listen_address("ops.address", address);
    return {asio::ip::make_address(found.ip), found.port};
}

}  // namespace

class OpsServer::Impl {
public:
    Impl(const std::string& address, const Readiness& readiness) : readiness_(readiness), acceptor_(context_) {
        const auto endpoint = endpoint_of(address);
        try {
            acceptor_.open(endpoint.protocol());
            acceptor_.set_option(asio::socket_base::reuse_address(true));
            acceptor_.bind(endpoint);
            acceptor_.listen();
            port_ = acceptor_.local_endpoint().port();
        } catch (const boost::system::system_error& error) {
            throw core::Failure::unavailable("ops.address " + address + ": " + error.code().message());
        }
        accept();
        thread_ = std::jthread([this] { context_.run(); });
    }

    ~Impl() { context_.stop(); }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }

private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code error, Tcp::socket socket) {
            // One too many is closed at once: an operator's page is no reason to run out of descriptors.
            if (!error && open_ < kConnectionsMax) {
                std::make_shared<Exchange>(std::move(socket), readiness_, open_)->begin();
            } else if (error && error != asio::error::operation_aborted) {
                core::log_warning("ops.accept_failed", {{"error", error.message()}});
                return accept_later();
            }
            if (acceptor_.is_open()) accept();
        });
    }

    /// After an error such as "too many open files", which would come again at once.
    void accept_later() {
        pause_.expires_after(std::chrono::milliseconds(200));
        pause_.async_wait([this](boost::system::error_code) { accept(); });
    }

    const Readiness& readiness_;
    int open_ = 0;  // Before the context: exchanges that it still holds count down when it goes.
    asio::io_context context_{1};
    Tcp::acceptor acceptor_;
    asio::steady_timer pause_{context_};
    std::uint16_t port_ = 0;
    std::jthread thread_;  // Last: it uses all the others.
};

OpsServer::OpsServer(const std::string& address, const Readiness& readiness)
    : impl_(std::make_unique<Impl>(address, readiness)) {}

OpsServer::~OpsServer() = default;

std::uint16_t OpsServer::port() const { return impl_->port(); }

void write_port_file(const std::string& path, std::uint16_t port) {
    const auto temporary = path + ".new";
    std::ofstream file(temporary, std::ios::trunc);
    file << port << '\n';
    file.close();
    if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
        throw core::InvalidInput("cannot write ops.port_file " + path);
    }
}

}  // namespace ftlfeed::app
