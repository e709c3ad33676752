#pragma once

#include <functional>
#include <string>
#include <utility>

#include <ftlfeed/cache/cache_client.hpp>
#include <ftlfeed/core/metrics.hpp>

#include "serve/copy.hpp"

namespace ftlfeed::serve {

/// Writes files to Redis where that has none or an older one. Threads: thread-safe.
class RedisKeeper {
public:
    /// Told after each write: why it failed, or "" when it did not. Called on the writing threads; must not throw.
    using Listener = std::function<void(const std::string& trouble)>;

    explicit RedisKeeper(
        const cache::ConnectionSettings& settings, Listener listener = [](const auto&) {})
        : listener_(std::move(listener)), client_(settings) {}

    /// Blocks for one or two round trips. That Redis is away or full is no failure of whoever pulls: it is counted.
    void keep(const std::string& doc_key, const cache::Document& document) noexcept;

private:
    Listener listener_;
    cache::CacheClient client_;
    core::Counter kept_ = core::counter("ftl_serve_kept_total", "Files that this server wrote to Redis");
    core::Counter failures_ = core::counter("ftl_serve_keep_failures_total", "Files that Redis did not take");
};

}  // namespace ftlfeed::serve
