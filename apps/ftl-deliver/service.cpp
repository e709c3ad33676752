#include "ftl-deliver/service.hpp"

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/log.hpp>
#include <ftlfeed/outbox/old_transactions.hpp>
#include <ftlfeed/outbox/reader.hpp>

#include "common/alert_log.hpp"

namespace ftlfeed::app {
namespace {

constexpr std::chrono::milliseconds kReadinessInterval{250};
constexpr std::chrono::milliseconds kPingInterval{1000};

/// A loop that waits its troubles out by itself; that Postgres is away shows in /readyz by the housekeeping.
template <typename Loop>
void add_loop(Supervisor& workers, const std::string& name, Loop& loop) {
    loop.on_failure([name](const core::Failure& failure) {
        core::log_warning("build.waiting", {{"worker", name}, {"error", failure.what()}});
    });
    workers.add(name, [&loop](Worker& worker) { loop.run(worker.stop()); });
}

/// Adds a loop that tells by itself what it waits for; `trouble` is empty when it waits for nothing.
void add_part(Supervisor& workers, Readiness& readiness, const std::string& name,
              const std::function<void(const std::stop_token&)>& run, const std::function<std::string()>& trouble) {
    readiness.set_waiting(name, "starting");
    workers.add(name, [run](Worker& worker) { run(worker.stop()); });
    workers.add(name + "-readiness", [name, trouble, &readiness](Worker& worker) {
        do {
            const auto reason = trouble();
            reason.empty() ? readiness.set_ready(name) : readiness.set_waiting(name, reason);
        } while (worker.sleep_for(kReadinessInterval));
    });
}

std::string trouble_of(const deliver::Dispatcher::Status& status) {
    if (status.is_ready) return "";
    return status.reason.empty() ? "starting" : status.reason;
}

}  // namespace

void keep_house(store::Session& session, const FeedSettings& settings) {
    // A busy half minute leaves more than one call takes.
    constexpr int kTrimsMax = 50;
    for (int i = 0; i < kTrimsMax && outbox::trim(session) > 0; ++i) {
    }
    outbox::alert_old_transactions(session);
    deliver::trim_attempts(session, std::chrono::hours(settings.failed_kept_hours),
                           std::chrono::hours(settings.proven_kept_hours));
}

void run_feeds(Runtime& runtime, const FeedSettings& settings) {
    // A file that is too large for a limit of the system is a failure of that file, not the end of the process.
    std::signal(SIGXFSZ, SIG_IGN);

    auto build_settings = settings.build;
    build_settings.connection = runtime.postgres("build");
    const auto resolvers = std::make_shared<const build::ResolverRegistry>();
    store::WakeUp dirty;
    build::MarkLoop mark(build_settings, dirty, runtime.clock());
    build::AuditLoop audit(build_settings, resolvers, runtime.clock());
    std::vector<std::unique_ptr<build::BuildLoop>> builders;
    for (std::int64_t i = 0; i < settings.builders; ++i) {
        builders.push_back(std::make_unique<build::BuildLoop>(build_settings, resolvers, dirty, runtime.clock()));
    }
    std::shared_ptr<cache::CacheClient> cache;
    std::optional<deliver::CacheKeeper> keeper;
    if (const auto connection = settings.cache_connection()) {
        cache = std::make_shared<cache::CacheClient>(*connection);
        keeper.emplace(settings.cache, runtime.postgres("cache"), *cache, runtime.clock());
    }
    if (!settings.deliver.is_enabled) {
        core::log_warning("deliver.disabled", {{"remedy", "set deliver.enabled to send files to destinations"}});
    }
    std::optional<deliver::Dispatcher> dispatcher;
    if (settings.deliver.is_enabled || cache) {
        dispatcher.emplace(settings.deliver, runtime.postgres("deliver"),
                           deliver::built_in_transports(settings.deliver, runtime.clock(), cache), runtime.clock());
    }

    if (dispatcher) {
        for (auto& builder : builders) builder->on_version([&dispatcher] { dispatcher->wake(); });
    }

    Supervisor workers(runtime);
    if (settings.builders > 0) {
        add_loop(workers, "build-marker", mark);
        for (std::size_t i = 0; i < builders.size(); ++i) {
            add_loop(workers, "builder-" + std::to_string(i + 1), *builders[i]);
        }
        add_loop(workers, "build-audit", audit);
    }
    if (dispatcher) {
        add_part(
            workers, runtime.readiness(), "deliver", [&](const std::stop_token& stop) { dispatcher->run(stop); },
            [&] { return trouble_of(dispatcher->status()); });
    }
    if (keeper) {
        add_part(
            workers, runtime.readiness(), "cache", [&](const std::stop_token& stop) { keeper->run(stop); },
            [&] { return keeper->status().trouble; });
    }
    workers.add_retrying("housekeeping", [&settings](Worker& worker) {
        auto session = worker.runtime().connect("housekeeping");
        auto& clock = worker.runtime().clock();
        auto next = clock.steady_now();
        do {
            if (clock.steady_now() >= next) {
                keep_house(session, settings);
                next = clock.steady_now() + settings.housekeeping_interval;
            }
            // Between its rounds it tells /readyz whether Postgres answers.
            session.read([](pqxx::transaction_base& tx) { tx.exec("SELECT 1"); });
            worker.ready();
        } while (worker.sleep_for(kPingInterval));
    });
    add_alert_log(workers);
    workers.run();
}

}  // namespace ftlfeed::app
