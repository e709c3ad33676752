#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include <ftlfeed/serve/key_ring.hpp>

#include "common/listen_address.hpp"
#include "ftl-serve/serve_settings.hpp"
#include "serve/backroom.hpp"
#include "serve/document_reader.hpp"

namespace ftlfeed::app {

/// What the loops of a server share. All of it is thread-safe and outlives them.
struct PullShared {
    const ServeSettings& settings;
    const serve::KeyRing& keys;
    serve::DocumentReader& postgres;
    serve::Backroom& backroom;
    std::function<void(const std::string& doc_key, const serve::DocumentPtr& document)> keep;
    core::Clock& clock;
};

/// One thread's share of the server: its clients, its memory, its connection to Redis. Several listen on one port, and
/// the kernel parts the clients among them.
/// Threads: confined to the thread that runs it, but for what says otherwise.
class PullLoop {
public:
    /// Listens at once. Throws core::Failure when the address cannot be taken.
    PullLoop(const PullShared& shared, const ListenAddress& address);
    ~PullLoop();
    PullLoop(const PullLoop&) = delete;
    PullLoop& operator=(const PullLoop&) = delete;

    [[nodiscard]] std::uint16_t port() const;
    /// Serves until the stop. Then it takes no new clients, closes those that wait, and finishes answers under way: each
    /// within its own limits.
    void run(const std::stop_token& stop);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::app
