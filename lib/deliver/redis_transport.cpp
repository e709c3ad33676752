#include "deliver/redis_transport.hpp"

#include <utility>
#include <variant>

#include <ftlfeed/core/crash_point.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::deliver {

namespace {

constexpr int kRedisPort = 6379;

}  // namespace

SendOutcome RedisTransport::publish(const Outgoing& file, cache::Document document, SendGuard& guard) {
    document.version = file.version;
    if (!guard.may_publish()) return Withheld{};
    const auto outcome = client_->put_if_newer(key_of(file.key), file.version, document.fields());
    core::durable_step("deliver.cached");
    const auto* refused = std::get_if<cache::Refused>(&outcome);
    if (refused == nullptr || refused->held == file.version) {
        return Stored{"v=" + file.version.text(), Guarantee::kAtomicReplace};
    }
    return Refused{"the receiver holds version " + refused->held.text() + ", newer than " + file.version.text() +
                       ": another installation writes there, or ours was restored from a backup",
                   false};
}

SendOutcome RedisTransport::put(const Outgoing& file, SendGuard& guard) {
    cache::Document document;
    document.body_gz = file.content.gz;
    document.content_type = file.content.content_type;
    document.body_sha256 = core::hex({file.content.sha256.begin(), file.content.sha256.end()});
    document.body_bytes = file.content.body.size();
    document.changed_at = file.changed_at;
    document.last_modified = file.content.last_modified;
    return publish(file, std::move(document), guard);
}

SendOutcome RedisTransport::remove(const Outgoing& file, SendGuard& guard) {
    cache::Document document;
    document.is_retired = true;
    document.changed_at = file.changed_at;
    return publish(file, std::move(document), guard);
}

Look RedisTransport::look(const Outgoing& file, SendGuard& /*guard*/) {
    return client_->version(key_of(file.key)) == file.version ? Look::kThere : Look::kNotThere;
}

SendOutcome RedisTransport::test(SendGuard& guard) {
    if (!guard.may_publish()) return Withheld{};
    client_->try_write(prefix_);
    return Stored{"an entry below " + prefix_ + " was made and taken away", Guarantee::kAtomicReplace};
}

std::unique_ptr<Transport> client_redis(const DestinationSettings& destination, const HostFence& fence,
                                        core::Secret password) {
    if (destination.host.empty()) throw core::InvalidInput("a redis destination needs a host");
    cache::ConnectionSettings settings;
    settings.host = destination.host;
    settings.port = static_cast<std::uint16_t>(destination.port.value_or(kRedisPort));
    settings.database = destination.database_number;
    settings.password = std::move(password);
    settings.name = "ftl-deliver";
    settings.connect_timeout = destination.limits.connect;
    settings.request_timeout = destination.limits.bytes;
    settings.may_connect = [fence, host = destination.host](std::string_view address) {
        const auto numeric = HostAddress::parse(address);
        return numeric && fence.allows(host, *numeric);
    };
    return std::make_unique<RedisTransport>(
        std::make_shared<cache::CacheClient>(settings),
        destination.folder.empty() ? std::string(cache::Key::kDocumentPrefix) : destination.folder);
}

}  // namespace ftlfeed::deliver
