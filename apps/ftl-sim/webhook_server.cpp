#include "webhook_server.hpp"

#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
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

constexpr std::uint64_t kBodyBytesMax = std::uint64_t{64} << 20;

std::string text(beast::string_view view) { return {view.data(), view.size()}; }

/// One connection of a sender. Lives as long as a handler of it is pending.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket socket, WebhookReceiver& receiver)
        : socket_(std::move(socket)), timer_(socket_.get_executor()), receiver_(receiver) {}

    void read() {
        parser_.emplace();
        parser_->body_limit(kBodyBytesMax);
        http::async_read_header(socket_, buffer_, *parser_,
                                [self = shared_from_this()](beast::error_code error, std::size_t) {
                                    if (!error) self->head_came();
                                });
    }

private:
    void head_came() {
        plan_ = receiver_.next();
        if (plan_.misdeed == Misdeed::kHangBefore) {
            receiver_.note_unread(request(), plan_);
            return wait_for_the_end();
        }
        http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, std::size_t) {
            if (!error) self->body_came();
        });
    }

    [[nodiscard]] WebhookRequest request() const {
        const auto& message = parser_->get();
        return {text(message.method_string()),      text(message["webhook-id"]),
                text(message["webhook-timestamp"]), text(message["webhook-signature"]),
                text(message["ftl-file"]),          text(message["ftl-version"]),
                text(message["ftl-event"]),         message.body()};
    }

    void body_came() {
        const int status = receiver_.take(request(), plan_);
        switch (plan_.misdeed) {
            case Misdeed::kHangAfter:
                return wait_for_the_end();
            case Misdeed::kClose:
                return close();
            case Misdeed::kReset:
                return reset();
            default:
                return prepare(status);
        }
    }

    void prepare(int status) {
        http::response<http::string_body> response;
        response.result(static_cast<unsigned>(status));
        for (const auto& [name, value] : plan_.headers) response.set(name, value);
        for (std::uint64_t i = 0, bytes = 0; bytes < plan_.header_bytes; ++i, bytes += 110) {
            response.set("X-Filler-" + std::to_string(i), std::string(90, 'x'));
        }
        if (plan_.is_html) {
            response.set(http::field::content_type, "text/html; charset=utf-8");
            response.body() = "<!DOCTYPE html><html><body>Thank you</body></html>";
        }
        response.body() += std::string(plan_.body_bytes, 'x');
        response.keep_alive(parser_->get().keep_alive());
        is_kept_ = response.keep_alive();
        // Beast refuses a length for an answer that has no body; what the script adds to it all the same is sent as it is.
        if (status != 204 && status != 304) response.prepare_payload();
        std::ostringstream whole;
        whole << response;
        answer_ = whole.str();
        if (plan_.misdeed == Misdeed::kCut) {
            answer_.resize(answer_.size() / 2);
            is_kept_ = false;
        }
        sent_ = 0;
        after(plan_.delay_ms, [](Session& self) { self.write(); });
    }

    void write() {
        const auto rest = answer_.size() - sent_;
        if (rest == 0) return is_kept_ ? read() : close();
        const auto part = plan_.drip_ms > 0 ? 1 : rest;
        asio::async_write(socket_, asio::buffer(answer_.data() + sent_, part),
                          [self = shared_from_this(), part](beast::error_code error, std::size_t) {
                              if (error) return;
                              self->sent_ += part;
                              self->after(self->plan_.drip_ms, [](Session& mine) { mine.write(); });
                          });
    }

    template <typename Next>
    void after(std::uint64_t milliseconds, Next next) {
        if (milliseconds == 0) return next(*this);
        timer_.expires_after(std::chrono::milliseconds(milliseconds));
        timer_.async_wait([self = shared_from_this(), next](beast::error_code error) {
            if (!error) next(*self);
        });
    }

    /// Until the sender gives up. What it still sends stays in the socket, unread.
    void wait_for_the_end() {
        timer_.expires_after(std::chrono::milliseconds(50));
        timer_.async_wait([self = shared_from_this()](beast::error_code error) {
            if (error) return;
            char byte = 0;
            const auto count = ::recv(self->socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
            const bool is_over = count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
            if (!is_over) self->wait_for_the_end();
        });
    }

    void close() {
        // The sender may be gone already, and then there is nothing left to end.
        beast::error_code ignored;
        socket_.shutdown(tcp::socket::shutdown_send, ignored);
    }

    void reset() {
        beast::error_code ignored;
        socket_.set_option(asio::socket_base::linger(true, 0), ignored);
        socket_.close(ignored);
    }

    tcp::socket socket_;
    asio::steady_timer timer_;
    WebhookReceiver& receiver_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::string_body>> parser_;
    WebhookPlan plan_;
    std::string answer_;
    std::size_t sent_ = 0;
    bool is_kept_ = false;
};

}  // namespace

struct WebhookServer::State {
    State(const WebhookReceiverSettings& settings, const std::string& address, std::uint16_t port)
        : receiver(settings), acceptor(context) {
        listen_on(acceptor, address, port);
    }

    void accept() {
        accept_each(acceptor,
                    [this](tcp::socket socket) { std::make_shared<Session>(std::move(socket), receiver)->read(); });
    }

    WebhookReceiver receiver;
    asio::io_context context{1};
    tcp::acceptor acceptor;
};

WebhookServer::WebhookServer(const WebhookReceiverSettings& settings, const std::string& address, std::uint16_t port)
    : state_(std::make_unique<State>(settings, address, port)) {
    state_->accept();
}

WebhookServer::~WebhookServer() = default;

std::uint16_t WebhookServer::port() const { return state_->acceptor.local_endpoint().port(); }

void WebhookServer::run() { state_->context.run(); }

void WebhookServer::stop() { state_->context.stop(); }

void WebhookServer::set_script(WebhookScript script) {
    asio::post(state_->context,
               [this, script = std::move(script)]() mutable { state_->receiver.set_script(std::move(script)); });
}

}  // namespace ftlfeed::sim
