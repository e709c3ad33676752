#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/net/http_post.hpp>

namespace ftlfeed::net {

/// How far a POST is, and which of its limits is over: connecting, then the bytes, then the reply. Pure: the time is
/// passed in. Threads: confined.
class PostProgress {
public:
    PostProgress(const PostLimits& limits, std::int64_t body_bytes, core::SteadyTime now)
        : limits_(limits), body_bytes_(body_bytes), since_(now) {}

    /// The connection stands; the first byte leaves now. A second time when a reused connection turned out to be dead.
    void connected(core::SteadyTime now);
    /// So many bytes of the body were handed over so far.
    void uploaded(std::int64_t bytes, core::SteadyTime now);

    /// Why it must end now, or nothing.
    [[nodiscard]] std::optional<std::string> over(core::SteadyTime now) const;
    /// When over() may next have something to say.
    [[nodiscard]] core::SteadyTime next_limit() const;

private:
    enum class Phase { kConnecting, kSending, kReplying };
    [[nodiscard]] std::chrono::milliseconds limit() const;
    [[nodiscard]] bool has_minimum() const { return phase_ == Phase::kSending && limits_.bytes_per_second_min > 0; }

    PostLimits limits_;
    std::int64_t body_bytes_;
    Phase phase_ = Phase::kConnecting;
    core::SteadyTime since_;  ///< When this phase began.
    // The speed is looked at once for each window, over all of it: a short stall is no slow receiver.
    core::SteadyTime window_since_;
    std::int64_t window_from_bytes_ = 0;
    std::int64_t bytes_ = 0;
    bool is_too_slow_ = false;
};

}  // namespace ftlfeed::net
