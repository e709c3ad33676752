#include <ftlfeed/deliver/dispatcher.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <pqxx/transaction_base>
#include <thread>
#include <utility>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/core/metrics.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/lease_keeper.hpp>
#include <ftlfeed/store/listener.hpp>
#include <ftlfeed/store/pool.hpp>

#include "deliver/destinations.hpp"
#include "deliver/sender.hpp"
#include "deliver/sender_threads.hpp"

namespace ftlfeed::deliver {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kThreadIdleLimit{10'000};
constexpr milliseconds kReconnectFirst{100};
constexpr milliseconds kReconnectMax{5'000};
/// With all threads busy, work that is due is offered again after this.
constexpr milliseconds kNoThreadWait{50};
constexpr const char* kThreadsAlert = "deliver.threads";

store::ConnectionSettings named(store::ConnectionSettings connection, const char* part) {
    connection.application += part;
    return connection;
}

}  // namespace

class Dispatcher::Impl {
public:
    Impl(DeliverSettings settings, store::ConnectionSettings connection, TransportFactory transports,
         core::Clock& clock)
        : settings_(std::move(settings)),
          connection_(std::move(connection)),
          transports_(std::move(transports)),
          clock_(clock),
          // A sender may be the first that comes to a promoted server: nothing goes out under the epoch before.
          pool_(named(connection_, " sender"), static_cast<std::size_t>(settings_.sessions_max),
                [](store::Session& session) { static_cast<void>(store::check_epoch(session)); }),
          bodies_(static_cast<std::size_t>(settings_.body_cache_bytes)) {}

    void run(const std::stop_token& stop);
    void wake() {
        has_news_ = true;
        wake_.signal();
    }
    [[nodiscard]] Status status() const {
        return status_.with([](const Status& status) { return status; });
    }

private:
    /// What lives as long as one run().
    struct Running {
        store::LeaseKeeper lease;
        std::jthread lease_thread;
        Sender sender;
        SenderThreads threads;
        Destinations destinations;

        explicit Running(Impl& impl);
    };

    void work(const std::stop_token& stop, Running& running, store::Session& session);
    [[nodiscard]] bool may_send(const Running& running, core::SteadyTime now) const {
        return running.lease.held().is_valid(now + settings_.lease_margin);
    }
    void start_due(Running& running);
    void note_threads(Running& running, store::Session& session);
    [[nodiscard]] milliseconds time_to_wait(const Running& running) const;
    void note_status(Running& running, const std::string& trouble);

    const DeliverSettings settings_;
    const store::ConnectionSettings connection_;
    const TransportFactory transports_;
    core::Clock& clock_;
    store::Pool pool_;
    BodyCache bodies_;
    DocumentNews news_;
    store::WakeUp wake_;
    std::atomic<bool> has_news_{false};
    std::atomic<bool> must_look_{false};
    core::SteadyTime next_poll_{};
    core::SteadyTime next_look_{};
    std::optional<bool> is_near_cap_;
    core::Guarded<Status> status_;
    core::Gauge threads_gauge_ = core::gauge("ftl_deliver_threads", "Sender threads at work");
    core::Gauge owed_gauge_ = core::gauge("ftl_deliver_owed_files", "Files that destinations are owed");
};

Dispatcher::Impl::Running::Running(Impl& impl)
    : lease([connection = named(impl.connection_, " lease")] { return store::Session(connection); },
            {lease_name(impl.settings_.worker), impl.settings_.lease_ttl, impl.settings_.lease_ttl / 4,
             impl.settings_.lease_ttl / 4},
            impl.clock_,
            [&impl] {
                impl.must_look_ = true;
                impl.wake_.signal();
            }),
      lease_thread([this](const std::stop_token& stop) { lease.run(stop); }),
      sender(SenderParts{impl.pool_, impl.bodies_, impl.transports_, impl.clock_, lease, impl.settings_.worker,
                         impl.settings_.lease_margin, [&impl] { impl.wake_.signal(); }}),
      threads(static_cast<std::size_t>(impl.settings_.threads_max), kThreadIdleLimit),
      destinations(impl.settings_.worker, impl.settings_.lease_ttl, impl.settings_.is_enabled, impl.clock_, lease) {}

void Dispatcher::Impl::run(const std::stop_token& stop) {
    Running running(*this);
    core::Jitter jitter;
    for (int failures = 0; !stop.stop_requested();) {
        try {
            store::Session session(named(connection_, " dispatcher"));
            failures = 0;
            work(stop, running, session);
        } catch (const core::Failure& failure) {
            failures = std::min(failures + 1, 10);
            core::log_warning("deliver.postgres_away", {{"failures", failures}, {"error", failure.what()}});
            note_status(running, failure.what());
            clock_.sleep_for(kReconnectFirst + core::full_jitter(failures, kReconnectFirst, kReconnectMax, jitter()),
                             stop);
        }
    }
    // Drain: sends under way end, the lease is renewed meanwhile and given back at the end (members go in reverse order).
    running.sender.stop(clock_.steady_now() + settings_.drain_limit);
    note_status(running, "stopping");
}

void Dispatcher::Impl::work(const std::stop_token& stop, Running& running, store::Session& session) {
    static_cast<void>(store::check_epoch(session));
    // First the place to read on from, then the comparison of all that is ours: what comes between is seen twice, not
    // never.
    news_.start(session);
    running.destinations.compare_all();
    const store::Listener listener(named(connection_, " listener"), {"ftl_document"}, [this] { wake(); });
    must_look_ = true;
    while (!stop.stop_requested()) {
        const auto now = clock_.steady_now();
        if (must_look_.exchange(false) || now >= next_look_) {
            next_look_ = now + settings_.look_interval;
            running.destinations.look(session);
            note_threads(running, session);
        }
        // NOTIFY is a hint: the poll finds what was not notified.
        if (has_news_.exchange(false) || now >= next_poll_) {
            next_poll_ = now + settings_.poll_interval;
            running.destinations.owe(news_.read(session));
        }
        start_due(running);
        note_status(running, "");
        wake_.wait_for(time_to_wait(running), stop);
    }
}

void Dispatcher::Impl::start_due(Running& running) {
    const auto now = clock_.steady_now();
    if (!may_send(running, now)) return;
    running.destinations.for_each([&](const std::shared_ptr<Destination>& destination) {
        const bool is_due = destination->state.with([&](Destination::State& state) {
            const auto wake_at = state.queue.wake_at();
            if (state.is_drained || !wake_at || *wake_at > now) return false;
            state.is_drained = true;
            return true;
        });
        if (!is_due) return;
        const bool is_started =
            running.threads.run([&sender = running.sender, destination] { sender.drain(*destination); });
        if (!is_started) destination->state.with([](Destination::State& state) { state.is_drained = false; });
    });
}

milliseconds Dispatcher::Impl::time_to_wait(const Running& running) const {
    const auto now = clock_.steady_now();
    auto wake_at = std::min(next_poll_, next_look_);
    // Without the lease what is due must wait: looking at it again and again would not bring it nearer.
    if (!may_send(running, now)) return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(wake_at - now));
    running.destinations.for_each([&](const std::shared_ptr<Destination>& destination) {
        destination->state.with([&](Destination::State& state) {
            if (state.is_drained) return;
            // One that is due and has no thread: all are busy.
            if (const auto at = state.queue.wake_at()) wake_at = std::min(wake_at, std::max(*at, now + kNoThreadWait));
        });
    });
    return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(wake_at - now));
}

void Dispatcher::Impl::note_threads(Running& running, store::Session& session) {
    const auto busy = running.threads.busy();
    threads_gauge_.set(static_cast<double>(busy));
    const bool is_near_cap = busy * 5 >= running.threads.threads_max() * 4 && running.threads.threads_max() > 1;
    if (is_near_cap_ == is_near_cap) return;
    session.write([&](pqxx::transaction_base& tx) {
        if (is_near_cap) {
            alert::raise(tx, {kThreadsAlert, settings_.worker, alert::Severity::kCritical,
                              std::to_string(busy) + " of " + std::to_string(running.threads.threads_max()) +
                                  " sender threads are busy: raise deliver.threads_max or find out what hangs"});
        } else {
            alert::clear(tx, kThreadsAlert, settings_.worker);
        }
    });
    is_near_cap_ = is_near_cap;
}

void Dispatcher::Impl::note_status(Running& running, const std::string& trouble) {
    const auto held = running.lease.held();
    Status status;
    status.destinations = running.destinations.size();
    running.destinations.for_each([&](const std::shared_ptr<Destination>& destination) {
        status.owed_files +=
            destination->state.with([](const Destination::State& state) { return state.queue.owed_files(); });
    });
    status.threads = running.threads.busy();
    status.is_ready = trouble.empty() && held.is_valid(clock_.steady_now());
    status.reason = !trouble.empty() ? trouble : status.is_ready ? "" : held.trouble;
    owed_gauge_.set(static_cast<double>(status.owed_files));
    status_.with([&](Status& mine) { mine = std::move(status); });
}

Dispatcher::Dispatcher(DeliverSettings settings, store::ConnectionSettings connection, TransportFactory transports,
                       core::Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(settings), std::move(connection), std::move(transports), clock)) {}
Dispatcher::~Dispatcher() = default;

void Dispatcher::run(const std::stop_token& stop) { impl_->run(stop); }

void Dispatcher::wake() { impl_->wake(); }

Dispatcher::Status Dispatcher::status() const { return impl_->status(); }

}  // namespace ftlfeed::deliver
