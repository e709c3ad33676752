#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::store {

/// Pure: when may a watcher take a lease over? After it saw the counter unmoved for `ttl` by its own steady clock, so
/// that a step of anybody's wall clock ends nothing. Threads: confined.
class LeaseWatch {
public:
    explicit LeaseWatch(std::chrono::milliseconds ttl) : ttl_(ttl) {}
    /// Notes what was read at `now`; true when the holder may be replaced.
    bool is_stale(const std::string& holder, std::int64_t beat, core::SteadyTime now);

private:
    std::chrono::milliseconds ttl_;
    std::string holder_;
    std::int64_t beat_ = -1;
    std::optional<core::SteadyTime> unmoved_since_;
};

/// One name, one holder at a time. Threads: confined to one thread; drive it every ttl / 4 or so.
class Lease {
public:
    /// `holder` names this process uniquely (host, pid, random).
    Lease(std::string name, std::string holder, std::chrono::milliseconds ttl, core::Clock& clock);

    /// Renews when held, takes over when free or stale. Returns whether it is held now. Throws Failure when Postgres is
    /// away: then valid_until() still stands.
    bool renew(Session& session);
    /// Gives it up at once, so that another need not wait for the TTL. Does nothing when not held.
    void release(Session& session);

    /// Own validity: start of the last successful renewal (before it was sent) + TTL. Work that must not outlive the
    /// lease ends before it.
    [[nodiscard]] core::SteadyTime valid_until() const { return valid_until_; }
    [[nodiscard]] bool is_valid(core::SteadyTime now) const { return is_held_ && now < valid_until_; }
    /// True while held without a break since the last take-over.
    [[nodiscard]] bool is_held() const { return is_held_; }
    /// Grows at each take-over; 0 = never held.
    [[nodiscard]] std::int64_t fence() const { return fence_; }
    [[nodiscard]] const std::string& holder() const { return holder_; }

private:
    std::string name_;
    std::string holder_;
    std::chrono::milliseconds ttl_;
    core::Clock& clock_;
    LeaseWatch watch_;
    bool is_held_ = false;
    std::int64_t fence_ = 0;
    core::SteadyTime valid_until_{};
};

/// `host:pid:random`, unique for this process.
[[nodiscard]] std::string process_identity();

}  // namespace ftlfeed::store
