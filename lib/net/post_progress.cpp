#include "net/post_progress.hpp"

#include <algorithm>

namespace ftlfeed::net {

void PostProgress::connected(core::SteadyTime now) {
    phase_ = body_bytes_ > 0 ? Phase::kSending : Phase::kReplying;
    since_ = now;
    window_since_ = now;
    window_from_bytes_ = 0;
    bytes_ = 0;
}

void PostProgress::uploaded(std::int64_t bytes, core::SteadyTime now) {
    if (phase_ != Phase::kSending) return;
    bytes_ = bytes;
    if (bytes_ >= body_bytes_) {
        phase_ = Phase::kReplying;
        since_ = now;
        return;
    }
    const auto length = now - window_since_;
    if (!has_minimum() || length < kSpeedWindow) return;
    const std::chrono::duration<double> seconds = length;
    is_too_slow_ = static_cast<double>(bytes_ - window_from_bytes_) <
                   static_cast<double>(limits_.bytes_per_second_min) * seconds.count();
    window_since_ = now;
    window_from_bytes_ = bytes_;
}

std::chrono::milliseconds PostProgress::limit() const {
    switch (phase_) {
        case Phase::kConnecting:
            return limits_.connect;
        case Phase::kSending:
            return limits_.bytes;
        case Phase::kReplying:
            return limits_.reply;
    }
    return limits_.reply;
}

std::optional<std::string> PostProgress::over(core::SteadyTime now) const {
    if (is_too_slow_) return "it took less than " + std::to_string(limits_.bytes_per_second_min) + " bytes a second";
    if (now < since_ + limit()) return std::nullopt;
    const auto length = std::to_string(limit().count()) + " ms";
    if (phase_ == Phase::kConnecting) return "no connection within " + length;
    if (phase_ == Phase::kSending) return "the bytes took longer than " + length;
    return "no whole answer within " + length + " after the last byte";
}

core::SteadyTime PostProgress::next_limit() const {
    const auto end = since_ + limit();
    return has_minimum() ? std::min(end, core::SteadyTime(window_since_ + kSpeedWindow)) : end;
}

}  // namespace ftlfeed::net
