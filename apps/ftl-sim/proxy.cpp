#include "proxy.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "listening.hpp"

namespace ftlfeed::sim {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kChunkBytes = 16 * 1024;
constexpr std::chrono::hours kHoldMax{24 * 365};  // Longer than any test.

/// One accepted connection and its way to the server. Lives as long as a handler of it is pending.
class Relay : public std::enable_shared_from_this<Relay> {
public:
    Relay(tcp::socket client, const ConnectionPlan& plan)
        : is_silent_(plan.is_silent),
          client_(std::move(client)),
          server_(client_.get_executor()),
          up_{plan.up, client_, server_, asio::steady_timer(client_.get_executor())},
          down_{plan.down, server_, client_, asio::steady_timer(client_.get_executor())} {}

    void start(const tcp::resolver::results_type& targets) {
        if (is_silent_) return swallow(up_);
        asio::async_connect(server_, targets, [self = shared_from_this()](error_code error, const tcp::endpoint&) {
            if (error) return self->end_both(End::kReset);
            error_code ignored;  // Only a matter of speed.
            self->server_.set_option(tcp::no_delay(true), ignored);
            self->read(self->up_);
            self->read(self->down_);
        });
    }

    void end_both(End end) {
        for (auto* socket : {&client_, &server_}) {
            error_code ignored;  // The other side may have closed before us.
            if (end == End::kReset) socket->set_option(asio::socket_base::linger(true, 0), ignored);
            socket->close(ignored);
        }
        up_.timer.cancel();
        down_.timer.cancel();
    }

private:
    struct Pump {
        DirectionPlan plan;
        tcp::socket& from;
        tcp::socket& to;
        asio::steady_timer timer;
        std::uint64_t passed = 0;
        std::size_t filled = 0;
        std::size_t sent = 0;
        std::array<char, kChunkBytes> chunk{};

        [[nodiscard]] bool is_at_end() const { return plan.end != End::kNone && passed >= plan.end_after_bytes; }
        /// Bytes of the next piece.
        [[nodiscard]] std::size_t piece() const {
            std::uint64_t bytes = filled - sent;
            if (plan.slice_bytes > 0) bytes = std::min(bytes, plan.slice_bytes);
            if (plan.end != End::kNone) bytes = std::min(bytes, plan.end_after_bytes - passed);
            return static_cast<std::size_t>(bytes);
        }
    };

    void read(Pump& pump) {
        if (pump.is_at_end()) return end(pump);
        pump.from.async_read_some(asio::buffer(pump.chunk),
                                  [self = shared_from_this(), &pump](error_code error, std::size_t count) {
                                      if (error == asio::error::eof) return shut(pump.to);
                                      if (error) return self->end_both(End::kReset);
                                      pump.filled = count;
                                      pump.sent = 0;
                                      self->pass_piece(pump);
                                  });
    }

    void pass_piece(Pump& pump) {
        if (pump.is_at_end()) return end(pump);
        if (pump.sent == pump.filled) return read(pump);
        if (pump.plan.delay_ms == 0) return write_piece(pump);
        pump.timer.expires_after(std::chrono::milliseconds(pump.plan.delay_ms));
        pump.timer.async_wait([self = shared_from_this(), &pump](error_code error) {
            if (!error) self->write_piece(pump);
        });
    }

    void write_piece(Pump& pump) {
        asio::async_write(pump.to, asio::buffer(pump.chunk.data() + pump.sent, pump.piece()),
                          [self = shared_from_this(), &pump](error_code error, std::size_t count) {
                              if (error) return self->end_both(End::kReset);
                              pump.sent += count;
                              pump.passed += count;
                              self->pass_piece(pump);
                          });
    }

    void end(Pump& pump) {
        switch (pump.plan.end) {
            case End::kSwallow:
                return swallow(pump);
            case End::kHalf:
                shut(pump.to);
                return swallow(pump);
            case End::kClose:
            case End::kReset:
                return end_both(pump.plan.end);
            case End::kStop:
                return hold(pump);
            case End::kNone:
                return;
        }
    }

    void swallow(Pump& pump) {
        pump.from.async_read_some(asio::buffer(pump.chunk),
                                  [self = shared_from_this(), &pump](error_code error, std::size_t) {
                                      if (!error) return self->swallow(pump);
                                      if (self->is_silent_ || error != asio::error::eof) self->end_both(End::kClose);
                                  });
    }

    /// Keeps the connection without reading from it, until cut() or the other direction ends it.
    void hold(Pump& pump) {
        pump.timer.expires_after(kHoldMax);
        pump.timer.async_wait([self = shared_from_this()](error_code) {});
    }

    static void shut(tcp::socket& socket) {
        error_code ignored;  // Closed already: the same to the one who reads.
        socket.shutdown(tcp::socket::shutdown_send, ignored);
    }

    bool is_silent_;
    tcp::socket client_;
    tcp::socket server_;
    Pump up_;
    Pump down_;
};

/// Throws std::runtime_error that names the server.
tcp::resolver::results_type resolved(asio::io_context& context, const ProxySettings& settings) {
    try {
        return tcp::resolver(context).resolve(settings.to_host, std::to_string(settings.to_port));
    } catch (const boost::system::system_error& error) {
        throw std::runtime_error("cannot look up " + settings.to_host + ": " + error.what());
    }
}

}  // namespace

struct Proxy::State {
    explicit State(const ProxySettings& settings)
        : script(settings.script), seed(settings.seed), targets(resolved(context, settings)), acceptor(context) {
        listen_on(acceptor, settings.address, settings.port);
        accept_each(acceptor, [this](tcp::socket client) { relay(std::move(client)); });
    }

    void relay(tcp::socket client) {
        const auto one = std::make_shared<Relay>(std::move(client), script.plan(++connections, seed));
        std::erase_if(relays, [](const auto& known) { return known.expired(); });
        relays.push_back(one);
        one->start(targets);
    }

    ProxyScript script;
    std::uint64_t seed;
    std::uint64_t connections = 0;
    std::vector<std::weak_ptr<Relay>> relays;
    asio::io_context context{1};
    tcp::resolver::results_type targets;
    tcp::acceptor acceptor;
};

Proxy::Proxy(const ProxySettings& settings) : state_(std::make_unique<State>(settings)) {}

Proxy::~Proxy() = default;

std::uint16_t Proxy::port() const { return state_->acceptor.local_endpoint().port(); }

void Proxy::run() { state_->context.run(); }

void Proxy::stop() { state_->context.stop(); }

void Proxy::set_script(ProxyScript script) {
    asio::post(state_->context, [this, script = std::move(script)]() mutable {
        state_->script = std::move(script);
        state_->connections = 0;
    });
}

void Proxy::cut() {
    asio::post(state_->context, [this] {
        for (const auto& known : state_->relays) {
            if (const auto relay = known.lock()) relay->end_both(End::kReset);
        }
    });
}

}  // namespace ftlfeed::sim
