#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/metrics.hpp>
#include <ftlfeed/serve/key_ring.hpp>

#include "ftl-serve/client_socket.hpp"
#include "ftl-serve/ready_set.hpp"
#include "ftl-serve/request_head.hpp"
#include "ftl-serve/serve_settings.hpp"
#include "serve/pull_cache.hpp"

namespace ftlfeed::app {

/// Answers by status, counted for /metrics.
struct PullCounters {
    core::Counter ok = answers("200");
    core::Counter not_modified = answers("304");
    core::Counter unauthorized = answers("401");
    core::Counter missing = answers("404");
    core::Counter gone = answers("410");
    core::Counter unavailable = answers("503");
    core::Counter other = answers("other");

    [[nodiscard]] static core::Counter answers(const char* status) {
        return core::counter("ftl_serve_answers_total", "Answers by status", {{"status", status}});
    }
    [[nodiscard]] core::Counter& of(serve::PlainStatus status);
};

/// `Date: …` for answers of this second. Confined.
class DateLine {
public:
    explicit DateLine(core::Clock& clock) : clock_(clock) {}
    [[nodiscard]] const std::string& text();

private:
    core::Clock& clock_;
    std::time_t second_ = 0;
    std::string text_;
};

/// What a client's connection needs of its loop. Confined to the loop.
struct PullSurroundings {
    const ServeSettings& settings;
    HeadLimits head_limits;
    ReadySet& ready;
    serve::KeyView& keys;
    serve::PullCache& cache;
    DateLine& date;
    PullCounters& counters;
    core::Clock& clock;
    bool is_draining = false;
};

/// One client's connection: requests one after the other, answers in their order. The cache holds a bare pointer while it is
/// asked, so whoever owns a client keeps it until is_over(), or until the cache runs no more. Threads: confined to its loop.
class PullClient final : public ReadySet::Owner {
public:
    /// Takes over `socket`, a descriptor that does not block, and serves it when it is ready.
    PullClient(int socket, PullSurroundings& around);

    void ready(std::uint32_t events) override;
    /// Called every 100 ms or so: ends what takes longer than it may.
    void look(core::SteadyTime now);
    /// Takes no further request.
    void drain();
    void close();
    /// Closed, and the cache has no question of its any more.
    [[nodiscard]] bool is_over() const { return is_closed() && state_ != State::kAsking; }

private:
    enum class State {
        kReading,  ///< Or waiting for a request.
        kAsking,   ///< The cache is being asked.
        kWriting,
        kLingering,  ///< All is said; what still comes is read and thrown away, so that the answer is not reset.
    };

    [[nodiscard]] bool is_closed() const { return !socket_.is_open(); }
    /// Answers what is there, and what comes meanwhile. Goes on by itself after what it has to wait for.
    void serve_input();
    /// Returns whether more bytes came.
    bool receive();
    void make_room();
    void take_requests();
    HeadResult read_request(std::string_view input);
    void serve_one();
    void ask_cache(const serve::FeedPath& path);
    void answer(const serve::PullAnswer& answer);
    void answer_file(const serve::PullAnswer& answer);
    void add_file(const serve::PullAnswer& answer, const std::shared_ptr<const std::string>& plain);
    void add_plain(serve::PlainStatus status);
    void refuse(serve::PlainStatus status);
    void add_common(const serve::PullAnswer& answer);
    void end_head();
    void answered();

    /// Returns whether everything is sent; else it goes on when the socket holds more, or the client is gone.
    bool flush();
    void write_rest();
    void written();
    void linger();
    void read_and_drop();
    void set_limit(std::chrono::milliseconds limit);

    PullSurroundings& around_;
    ClientSocket socket_;
    State state_ = State::kReading;
    core::SteadyTime deadline_;
    bool has_begun_head_ = false;
    bool is_closing_ = false;  ///< After the answers that are in `output_`.
    int receives_ = 0;         ///< Since ready() was called last.

    std::string input_;
    std::size_t input_begin_ = 0;  ///< Up to here it has been answered.
    std::size_t input_end_ = 0;    ///< Up to here it has been received.
    RequestHead head_;
    std::string known_head_;  ///< The bytes that `head_` was read from, when they are kept.
    std::size_t head_bytes_ = 0;
    serve::Coding coding_ = serve::Coding::kPlain;
    std::string doc_key_;
    std::string last_key_;  ///< The key of the request before, whose digest is known.
    serve::KeyDigest last_digest_{};

    std::string output_;
    std::shared_ptr<const void> body_owner_;  ///< Keeps `body_`: one that is too large to be copied into `output_`.
    std::string_view body_;
    std::size_t sent_ = 0;  ///< Of `output_` and `body_`.
};

}  // namespace ftlfeed::app
