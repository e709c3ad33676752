#pragma once

#include <chrono>
#include <utility>

#include "cache/connection.hpp"
#include "serve/document_source.hpp"

namespace ftlfeed::serve {

/// DocumentSource over two pipelined connections: a large body on its way must not hold up the answers to questions, whose
/// limit is short. Threads: confined to the loop.
class RedisSource final : public DocumentSource {
public:
    struct Limits {
        std::chrono::milliseconds check{50};
        std::chrono::milliseconds fetch{1000};
    };
    /// `events` are those of the connection that is asked at each hit.
    RedisSource(boost::asio::io_context& loop, const cache::ConnectionSettings& settings, const Limits& limits,
                cache::Connection::Events events = {})
        : limits_(limits), questions_(loop, settings, std::move(events)), bodies_(loop, settings) {}

    std::shared_ptr<const bool> version(const std::string& doc_key,
                                        std::function<void(VersionResult)> handler) override;
    void fetch(const std::string& doc_key, std::function<void(DocumentResult)> handler) override;
    void close() {
        questions_.close();
        bodies_.close();
    }

private:
    Limits limits_;
    cache::Connection questions_;
    cache::Connection bodies_;
};

}  // namespace ftlfeed::serve
