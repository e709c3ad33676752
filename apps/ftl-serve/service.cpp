#include "ftl-serve/service.hpp"

#include <sys/resource.h>

#include <memory>
#include <vector>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/listener.hpp>

#include "common/listen_address.hpp"
#include "common/ops_server.hpp"
#include "common/outage.hpp"
#include "common/supervisor.hpp"
#include "ftl-serve/pull_loop.hpp"
#include "serve/redis_keeper.hpp"

namespace ftlfeed::app {
namespace {

constexpr std::size_t kBackroomJobsMax = 1000;
constexpr std::size_t kFilesWaitingMax = 1000;
/// A read of the keys, or of a file, that takes longer than this has failed: somebody waits for it.
constexpr std::chrono::milliseconds kPostgresLimit{2000};
constexpr std::chrono::milliseconds kKeeperLimit{500};

/// Each client takes a descriptor, and the usual limit of a shell is 1,024.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) core::log_warning("serve.descriptor_limit_stays");
}

/// With limits for those who wait.
store::Session connect_quickly(const Runtime& runtime, const std::string& role) {
    auto postgres = runtime.postgres(role);
    postgres.connect_timeout = std::min(postgres.connect_timeout, kPostgresLimit);
    postgres.statement_timeout = std::min(postgres.statement_timeout, kPostgresLimit);
    postgres.lock_timeout = std::min(postgres.lock_timeout, kPostgresLimit);
    postgres.work_limit = std::min(postgres.work_limit, kPostgresLimit);
    return store::Session(postgres);
}

cache::ConnectionSettings keeper_settings(const ServeSettings& settings) {
    auto quick = settings.cache;
    quick.connect_timeout = quick.request_timeout = kKeeperLimit;
    return quick;
}

/// A Redis that takes no writes costs a read of Postgres for each file and second: somebody should know.
void note_write(core::Guarded<Outage>& outage, core::SteadyTime now, const std::string& trouble) {
    const bool is_news =
        outage.with([&](Outage& mine) { return trouble.empty() ? mine.recovered() : mine.failed(now); });
    if (!is_news) return;
    if (trouble.empty()) return core::log_info("serve.redis_takes_writes");
    core::log_warning("serve.redis_takes_no_writes", {{"error", trouble}});
}

void add_key_refresher(Supervisor& workers, Runtime& runtime, serve::KeyRing& keys, store::WakeUp& wake,
                       std::chrono::milliseconds poll) {
    workers.add_retrying("keys", [&keys, &wake, &runtime, poll](Worker& worker) {
        auto session = connect_quickly(runtime, "keys");
        do {
            keys.refresh(session);
            worker.ready();
            wake.wait_for(poll, worker.stop());
        } while (!worker.is_stopping());
    });
}

}  // namespace

void run_serve(Runtime& runtime, const ServeSettings& settings) {
    raise_descriptor_limit();
    serve::KeyRing keys(settings.grace, runtime.clock());
    core::Guarded<Outage> outage;
    serve::RedisKeeper keeper(keeper_settings(settings), [&](const std::string& trouble) {
        note_write(outage, runtime.clock().steady_now(), trouble);
    });
    const auto keep = [&keeper](const std::string& doc_key, const serve::DocumentPtr& document) {
        keeper.keep(doc_key, *document);
    };
    serve::Backroom backroom(kBackroomJobsMax);
    std::vector<std::unique_ptr<PullLoop>> loops;
    // Ends before the loops: its threads hand results to them.
    serve::DocumentReader reader(
        {static_cast<std::size_t>(settings.postgres_sessions), kFilesWaitingMax, settings.postgres_wait},
        {[&runtime] {
             auto session = connect_quickly(runtime, "files");
             // What it reads goes into Redis: on a server that was promoted a moment ago not under the epoch before.
             static_cast<void>(store::check_epoch(session));
             return session;
         },
         keep, runtime.clock()});

    const PullShared shared{settings, keys, reader, backroom, keep, runtime.clock()};
    auto address = parse_listen_address("serve.address", settings.address);
    for (std::int64_t i = 0; i < settings.threads; ++i) {
        loops.push_back(std::make_unique<PullLoop>(shared, address));
        address.port = loops.front()->port();
    }
    if (!settings.port_file.empty()) write_port_file(settings.port_file, address.port);
    core::log_info("serve.listening", {{"address", address.ip}, {"port", std::int64_t{address.port}}});

    store::WakeUp wake;
    const store::Listener listener(runtime.postgres("listen"), {"ftl_keys"}, [&wake] { wake.signal(); });
    Supervisor workers(runtime);
    add_key_refresher(workers, runtime, keys, wake, settings.keys_poll);
    for (std::size_t i = 0; i < loops.size(); ++i) {
        workers.add("pull-" + std::to_string(i + 1), [loop = loops[i].get()](Worker& worker) {
            worker.ready();
            loop->run(worker.stop());
        });
    }
    workers.run();
}

void check_cache(const ServeSettings& settings) {
    auto quick = settings.cache;
    quick.connect_timeout = quick.request_timeout = kPostgresLimit;
    cache::CacheClient(quick).try_write();
}

}  // namespace ftlfeed::app
