#include <chrono>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/deliver/directory_transport.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>
#include <ftlfeed/deliver/host_fence.hpp>
#include <ftlfeed/deliver/webhook_transport.hpp>

#include "deliver/credential_source.hpp"
#include "deliver/redis_transport.hpp"

namespace ftlfeed::deliver {

using std::chrono::milliseconds;

void bind_settings(core::Settings& settings, DeliverSettings& target) {
    settings.bind("deliver.enabled", target.is_enabled, "send files to clients' destinations; off: nothing leaves");
    settings.bind("deliver.worker", target.worker,
                  "name of this worker's lease; two processes of one name stand by for each other");
    settings.bind("deliver.poll_interval_ms", target.poll_interval,
                  "looks for new versions this often though nobody notified", milliseconds(10), milliseconds(10'000));
    settings.bind("deliver.look_interval_ms", target.look_interval,
                  "looks for changed settings and dead workers this often", milliseconds(10), milliseconds(60'000));
    settings.bind("deliver.lease_ttl_ms", target.lease_ttl, "a worker whose lease did not move for so long is replaced",
                  milliseconds(200), milliseconds(600'000));
    settings.bind("deliver.lease_margin_ms", target.lease_margin, "sends end this long before the lease does",
                  milliseconds(0), milliseconds(60'000));
    settings.bind("deliver.drain_limit_ms", target.drain_limit, "after a stop, sends under way get this long",
                  milliseconds(0), milliseconds(600'000));
    settings.bind("deliver.threads_max", target.threads_max, "sender threads at once, one for each destination at work",
                  1, 100'000);
    settings.bind("deliver.sessions_max", target.sessions_max, "Postgres sessions that the senders share", 1, 1'000);
    settings.bind("deliver.body_cache_bytes", target.body_cache_bytes, "bodies kept for the next destination", 0,
                  std::int64_t{1} << 40);
    settings.bind("deliver.allowed_hosts", target.allowed_hosts,
                  "the fence: hosts, *.names, addresses, blocks, or * for every public address; empty: none");
    settings.bind("deliver.master_key_file", target.master_key_file,
                  "file or credential:NAME with the key that opens stored credentials");
    settings.bind("deliver.resolve_programs", target.resolve_programs,
                  "programs, by absolute path, that may be run to get a credential; empty: none");
    settings.bind("deliver.tls_roots_file", target.tls_roots_file,
                  "PEM file with the roots that receivers' certificates go back to; empty: the system's");
}

namespace {

std::unique_ptr<Transport> webhook(const DeliverSettings& settings, const HostFence& fence, const core::Clock& clock,
                                   const DestinationSettings& destination) {
    const CredentialSource source{settings.master_key_file, {settings.resolve_programs}};
    const auto secrets = [credentials = destination.credentials, source, &clock](core::Deadline deadline) {
        return signing_secrets(credentials, source, deadline, clock);
    };
    return std::make_unique<WebhookTransport>(
        WebhookTransport::Parts{{destination.url_scheme, destination.host, destination.port, destination.url_path},
                                destination.id,
                                destination.label,
                                destination.limits,
                                settings.tls_roots_file,
                                secrets},
        fence, clock);
}

std::unique_ptr<Transport> redis(const DeliverSettings& settings, const HostFence& fence, const core::Clock& clock,
                                 const DestinationSettings& destination) {
    core::Secret password;
    for (const auto& stored : destination.credentials) {
        if (stored.kind != "password") continue;
        password = secret_of(stored, {settings.master_key_file, {settings.resolve_programs}},
                             core::Deadline(clock.steady_now() + destination.limits.connect), clock);
    }
    return client_redis(destination, fence, std::move(password));
}

}  // namespace

TransportFactory built_in_transports(const DeliverSettings& settings, const core::Clock& clock,
                                     std::shared_ptr<cache::CacheClient> own_cache) {
    const HostFence fence(settings.allowed_hosts);
    return [settings, fence, &clock,
            own_cache = std::move(own_cache)](const DestinationSettings& destination) -> std::unique_ptr<Transport> {
        if (!destination.host.empty() && !fence.may_name(destination.host)) {
            throw core::InvalidInput("host " + core::json_quoted(core::shorten(destination.host, 200)) +
                                     " is outside the fence; add it to deliver.allowed_hosts");
        }
        if (destination.transport == "directory") {
            return std::make_unique<DirectoryTransport>(destination.folder, destination.id, clock);
        }
        if (destination.transport == "webhook") return webhook(settings, fence, clock, destination);
        if (destination.transport == "redis") return redis(settings, fence, clock, destination);
        if (destination.transport == "cache") {
            if (!own_cache) throw core::InvalidInput("this ftl-deliver has no cache: set cache.uri");
            return std::make_unique<RedisTransport>(own_cache, std::string(cache::Key::kDocumentPrefix));
        }
        throw core::InvalidInput("transport " + core::json_quoted(core::shorten(destination.transport, 100)) +
                                 " is not known; this build has: directory, redis, webhook");
    };
}

}  // namespace ftlfeed::deliver
