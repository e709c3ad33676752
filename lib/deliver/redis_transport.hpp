#pragma once

#include <memory>
#include <string>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/deliver/host_fence.hpp>
#include <ftlfeed/deliver/transport.hpp>

namespace ftlfeed::deliver {

/// A Redis: our own cache, or a client's. A file is the hash PREFIX + DOC_KEY with the fields of cache::Document, replaced
/// in one step by a script that never goes back to an older version. A retired file stays as its last version, with `gone`
/// and without a body, so that no older one can take its place. Guarantee: atomic_replace. Receipt: `v=VERSION`.
/// Threads: confined; the client may be shared.
class RedisTransport final : public Transport {
public:
    RedisTransport(std::shared_ptr<cache::CacheClient> client, std::string prefix)
        : client_(std::move(client)), prefix_(std::move(prefix)) {}

    [[nodiscard]] SendOutcome put(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] SendOutcome remove(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] Look look(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] SendOutcome test(SendGuard& guard) override;

private:
    [[nodiscard]] cache::Key key_of(const core::FeedKey& key) const { return cache::Key(prefix_ + key.doc_key()); }
    SendOutcome publish(const Outgoing& file, cache::Document document, SendGuard& guard);

    std::shared_ptr<cache::CacheClient> client_;
    std::string prefix_;
};

/// The transport of a client's Redis, on a connection of its own, through the fence; `password` may be empty. Throws
/// core::InvalidInput when the settings do not fit.
[[nodiscard]] std::unique_ptr<Transport> client_redis(const DestinationSettings& destination, const HostFence& fence,
                                                      core::Secret password);

}  // namespace ftlfeed::deliver
