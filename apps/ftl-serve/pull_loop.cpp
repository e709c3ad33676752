#include "ftl-serve/pull_loop.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "common/outage.hpp"
#include "ftl-serve/pull_client.hpp"
#include "serve/redis_source.hpp"

namespace ftlfeed::app {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::milliseconds;
using Tcp = asio::ip::tcp;

namespace {

constexpr milliseconds kSweepInterval{50};
constexpr milliseconds kAcceptPause{200};
/// Taken in one turn.
constexpr int kAcceptsMax = 64;
/// Clients are looked at this often: their limits are seconds.
constexpr int kSweepsPerLook = 4;

using Acceptor = asio::basic_socket_acceptor<Tcp, asio::io_context::executor_type>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                                         asio::io_context::executor_type>;

serve::PullSettings pull_settings(const ServeSettings& settings) {
    serve::PullSettings pull;
    pull.bytes_max = static_cast<std::size_t>(settings.memory_bytes_max / settings.threads);
    pull.hold = settings.hold;
    pull.postgres_wait = settings.postgres_wait;
    return pull;
}

/// Several loops listen on one port.
void share_port(Acceptor& acceptor) {
    const int on = 1;
    if (::setsockopt(acceptor.native_handle(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) {
        throw boost::system::system_error(errno, boost::system::system_category());
    }
}

}  // namespace

class PullLoop::Impl {
public:
    Impl(const PullShared& shared, const ListenAddress& address)
        : settings_(shared.settings),
          redis_(context_, settings_.cache, {settings_.check_timeout, settings_.fetch_timeout},
                 {[this](const auto&) { redis_is_back(); }, [this](const auto& why) { redis_is_away(why); }}),
          keys_(shared.keys),
          date_(shared.clock),
          cache_(pull_settings(settings_),
                 {redis_, shared.postgres, shared.backroom, shared.keep,
                  [this](std::function<void()> work) { asio::post(context_, std::move(work)); }, shared.clock}),
          around_{settings_, {static_cast<std::size_t>(settings_.head_bytes_max)},
                  ready_,    keys_,
                  cache_,    date_,
                  counters_, shared.clock},
          clients_max_(static_cast<std::size_t>(settings_.connections_max / settings_.threads)) {
        listen(address);
    }

    ~Impl() {
        redis_.close();
        for (const auto& client : clients_) client->close();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[nodiscard]] std::uint16_t port() const { return port_; }

    void run(const std::stop_token& stop) {
        ready_.begin();
        accept();
        sweep();
        const std::stop_callback drains(stop, [this] { asio::post(context_, [this] { drain(); }); });
        context_.run();
    }

private:
    void listen(const ListenAddress& address) {
        try {
            const Tcp::endpoint endpoint(asio::ip::make_address(address.ip), address.port);
            acceptor_.open(endpoint.protocol());
            acceptor_.set_option(asio::socket_base::reuse_address(true));
            share_port(acceptor_);
            acceptor_.bind(endpoint);
            acceptor_.listen();
            acceptor_.native_non_blocking(true);
            port_ = acceptor_.local_endpoint().port();
        } catch (const boost::system::system_error& error) {
            throw core::Failure::unavailable("serve.address " + address.ip + ":" + std::to_string(address.port) + ": " +
                                             error.code().message());
        }
    }

    void accept() {
        acceptor_.async_wait(Acceptor::wait_read, [this](error_code error) {
            if (error || !acceptor_.is_open()) return;
            if (take_clients()) return accept();
            core::log_warning("serve.accept_failed", {{"error", std::generic_category().message(errno)}});
            // Out of descriptors, say: it would come again at once.
            pause_.expires_after(kAcceptPause);
            pause_.async_wait([this](error_code) { accept(); });
        });
    }

    /// Returns false, with errno, when the system has nothing left for them.
    bool take_clients() {
        for (int i = 0; i < kAcceptsMax; ++i) {
            const int socket = ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (socket >= 0) {
                welcome(socket);
            } else if (errno == EAGAIN) {
                return true;
            } else if (errno != ECONNABORTED && errno != EPROTO && errno != EINTR) {
                return false;  // The others are one client's, who has gone already.
            }
        }
        return true;
    }

    void welcome(int socket) {
        if (clients_.size() >= clients_max_) {
            // One too many is closed at once; the others are served on.
            ::close(socket);
            return refused_.increment();
        }
        connected_.add(1);
        clients_.push_back(std::make_unique<PullClient>(socket, around_));
    }

    void sweep() {
        timer_.expires_after(kSweepInterval);
        timer_.async_wait([this](error_code error) {
            if (error) return;
            cache_.tick();
            if (++sweeps_ % kSweepsPerLook == 0 || around_.is_draining) look();
            if (around_.is_draining && clients_.empty()) return context_.stop();
            sweep();
        });
    }

    void look() {
        const auto now = around_.clock.steady_now();
        std::erase_if(clients_, [&](const std::unique_ptr<PullClient>& client) {
            client->look(now);
            if (client->is_over()) connected_.add(-1);
            return client->is_over();
        });
    }

    /// One that comes back at the first try, after an answer that took too long, is not worth a line.
    void redis_is_away(const core::Failure& why) {
        if (++redis_breaks_ < 2 || !redis_outage_.failed(around_.clock.steady_now())) return;
        core::log_warning("serve.redis_away", {{"error", why.what()}});
    }

    void redis_is_back() {
        redis_breaks_ = 0;
        if (redis_outage_.recovered()) core::log_info("serve.redis_back");
    }

    void drain() {
        around_.is_draining = true;
        error_code ignored;
        acceptor_.close(ignored);
        for (const auto& client : clients_) client->drain();
    }

    const ServeSettings& settings_;
    asio::io_context context_{1};
    ReadySet ready_{context_};
    Acceptor acceptor_{context_};
    Timer timer_{context_};
    Timer pause_{context_};
    std::uint16_t port_ = 0;
    int redis_breaks_ = 0;  ///< Since it was last connected.
    Outage redis_outage_;
    serve::RedisSource redis_;
    serve::KeyView keys_;
    DateLine date_;
    PullCounters counters_;
    core::Gauge connected_ = core::gauge("ftl_serve_connections", "Clients connected now");
    core::Counter refused_ = core::counter("ftl_serve_refused_total", "Clients that were one too many");
    serve::PullCache cache_;
    PullSurroundings around_;
    std::size_t clients_max_;
    int sweeps_ = 0;
    std::vector<std::unique_ptr<PullClient>> clients_;
};

PullLoop::PullLoop(const PullShared& shared, const ListenAddress& address)
    : impl_(std::make_unique<Impl>(shared, address)) {}
PullLoop::~PullLoop() = default;

std::uint16_t PullLoop::port() const { return impl_->port(); }

void PullLoop::run(const std::stop_token& stop) { impl_->run(stop); }

}  // namespace ftlfeed::app
