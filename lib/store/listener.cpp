#include <ftlfeed/store/listener.hpp>

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <system_error>
#include <thread>

#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "store/connection.hpp"

// Plain libpq: libpqxx 6 can neither wait for a socket together with a stop, nor give up on a server that is silent, and
// its receivers LISTEN again after a silent reconnect without a word about what was lost between.

namespace ftlfeed::store {

using core::SteadyTime;
using std::chrono::milliseconds;

namespace {

struct CloseConnection {
    void operator()(PGconn* it) const { PQfinish(it); }
};
struct FreeResult {
    void operator()(PGresult* it) const { PQclear(it); }
};
struct FreeMemory {
    void operator()(void* it) const { PQfreemem(it); }
};
using Connection = std::unique_ptr<PGconn, CloseConnection>;
using Result = std::unique_ptr<PGresult, FreeResult>;

/// Readable from stop on, for poll().
class StopSignal {
public:
    StopSignal() : handle_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (handle_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    }
    ~StopSignal() { close(handle_); }
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    void raise() const noexcept { eventfd_write(handle_, 1); }
    [[nodiscard]] int handle() const { return handle_; }

private:
    int handle_;
};

void keep_quiet(void* /*context*/, const PGresult* /*notice*/) {}

}  // namespace

class Listener::Impl {
public:
    Impl(ConnectionSettings settings, std::vector<std::string> channels, std::function<void()> on_wake, Options options)
        : text_(connection_text(settings)),
          connect_timeout_(settings.connect_timeout),
          channels_(std::move(channels)),
          on_wake_(std::move(on_wake)),
          options_(options),
          thread_([this](const std::stop_token& stop) { run(stop); }) {}

    ~Impl() {
        thread_.request_stop();
        stop_signal_.raise();
    }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[nodiscard]] bool is_connected() const { return is_connected_; }

private:
    void run(const std::stop_token& stop) {
        core::Jitter jitter;
        for (int failures = 0; !stop.stop_requested();) {
            const auto begin = now();
            const auto why = serve(stop);
            is_connected_ = false;
            if (stop.stop_requested()) return;
            // A connection that held for a while was a good one: the count of failures in a row begins anew.
            failures = now() - begin > 2 * options_.ping_interval ? 1 : std::min(failures + 1, kFailuresCounted);
            if (failures == 1)
                core::log_warning("store.listener_lost", {{"error", without_secrets(why, text_.password)}});
            // Half of it at least, so that a server that accepts and drops us at once costs no busy loop.
            const auto pause =
                core::full_jitter(failures, options_.reconnect_first, options_.reconnect_max, 0.5) +
                core::full_jitter(failures, options_.reconnect_first, options_.reconnect_max, jitter()) / 2;
            wait(-1, 0, now() + pause);
        }
    }

    /// Connects and listens until the connection is lost or a stop is asked. Returns the reason.
    std::string serve(const std::stop_token& stop) {
        const Connection connection(PQconnectStart(text_.text.c_str()));
        if (!connection) return "out of memory";
        PQsetNoticeReceiver(connection.get(), keep_quiet, nullptr);
        const auto limit = now() + connect_timeout_;
        if (!connect(connection.get(), stop, limit) || !listen(connection.get(), stop, limit)) {
            const std::string why = PQerrorMessage(connection.get());
            return why.empty() ? "no answer" : why;
        }
        is_connected_ = true;
        on_wake_();
        return wait_for_news(connection.get(), stop);
    }

    bool connect(PGconn* connection, const std::stop_token& stop, SteadyTime limit) const {
        auto state = PGRES_POLLING_WRITING;
        while (!stop.stop_requested() && now() < limit && PQstatus(connection) != CONNECTION_BAD) {
            // The socket may be another one after each step: several addresses are tried in turn.
            wait(PQsocket(connection), state == PGRES_POLLING_READING ? POLLIN : POLLOUT, limit);
            if (stop.stop_requested()) return false;
            state = PQconnectPoll(connection);
            if (state == PGRES_POLLING_OK) return true;
            if (state == PGRES_POLLING_FAILED) return false;
        }
        return false;
    }

    bool listen(PGconn* connection, const std::stop_token& stop, SteadyTime limit) const {
        for (const auto& channel : channels_) {
            const std::unique_ptr<char, FreeMemory> name(
                PQescapeIdentifier(connection, channel.c_str(), channel.size()));
            if (!name || PQsendQuery(connection, ("LISTEN " + std::string(name.get())).c_str()) == 0) return false;
            while (PQisBusy(connection) != 0) {
                if (stop.stop_requested() || now() >= limit) return false;
                wait(PQsocket(connection), POLLIN, limit);
                if (PQconsumeInput(connection) == 0) return false;
            }
            if (!take_results(connection)) return false;
        }
        return true;
    }

    /// The results that are complete; false when one is an error.
    static bool take_results(PGconn* connection) {
        bool all_good = true;
        while (PQisBusy(connection) == 0) {
            const Result result(PQgetResult(connection));
            if (!result) break;
            const auto status = PQresultStatus(result.get());
            all_good = all_good && (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK);
        }
        return all_good;
    }

    static bool take_notifications(PGconn* connection) {
        bool any = false;
        while (const std::unique_ptr<PGnotify, FreeMemory> notification{PQnotifies(connection)}) any = true;
        return any;
    }

    /// Waits, and pings in between. A ping that is not answered within an interval means a dead connection: TCP alone
    /// would not tell of a peer that is stopped, or that vanished while nothing was sent.
    std::string wait_for_news(PGconn* connection, const std::stop_token& stop) {
        bool is_ping_out = false;
        auto due = now() + options_.ping_interval;
        while (!stop.stop_requested()) {
            wait(PQsocket(connection), POLLIN, due);
            if (stop.stop_requested()) break;
            // A dead socket is always readable; here it shows as an error, never as "nothing, look again".
            if (PQconsumeInput(connection) == 0) return PQerrorMessage(connection);
            if (!take_results(connection)) return PQerrorMessage(connection);
            if (take_notifications(connection)) on_wake_();
            if (is_ping_out && PQtransactionStatus(connection) == PQTRANS_IDLE) {
                is_ping_out = false;
                due = now() + options_.ping_interval;
            }
            if (now() < due) continue;
            if (is_ping_out) return "a ping was not answered";
            if (PQsendQuery(connection, "SELECT 1") == 0) return PQerrorMessage(connection);
            is_ping_out = true;
            due = now() + options_.ping_interval;
        }
        return "";
    }

    /// Until the socket is ready, `until` has come, or a stop is asked.
    void wait(int socket, short events, SteadyTime until) const {
        const auto left = std::chrono::ceil<milliseconds>(until - now()).count();
        std::array<pollfd, 2> looks{pollfd{stop_signal_.handle(), POLLIN, 0}, pollfd{socket, events, 0}};
        // An interrupted or failed poll is an early return, which every caller can take.
        poll(looks.data(), socket < 0 ? 1 : 2, static_cast<int>(std::clamp<std::int64_t>(left, 0, kPollMax)));
    }

    static SteadyTime now() { return core::Clock::real().steady_now(); }

    static constexpr std::int64_t kPollMax = 60'000;
    static constexpr int kFailuresCounted = 30;

    ConnectionText text_;
    milliseconds connect_timeout_;
    std::vector<std::string> channels_;
    std::function<void()> on_wake_;
    Options options_;
    StopSignal stop_signal_;
    std::atomic<bool> is_connected_{false};
    std::jthread thread_;  // Last: it uses all the others.
};

Listener::Listener(ConnectionSettings settings, std::vector<std::string> channels, std::function<void()> on_wake,
                   Options options)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(channels), std::move(on_wake), options)) {}

Listener::Listener(ConnectionSettings settings, std::vector<std::string> channels, std::function<void()> on_wake)
    : Listener(std::move(settings), std::move(channels), std::move(on_wake), Options{}) {}

Listener::~Listener() = default;

bool Listener::is_connected() const { return impl_->is_connected(); }

}  // namespace ftlfeed::store
