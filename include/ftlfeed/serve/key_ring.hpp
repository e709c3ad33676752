#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/serve/feed_path.hpp>
#include <ftlfeed/serve/presented_key.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::serve {

/// What a request may do.
enum class Verdict {
    kAllowed,
    kNoKey,       ///< None, an unknown one, one that is revoked or has expired: nobody is told which. 401
    kNoFile,      ///< Not entitled, or no such event or feed: nobody is told which. 404
    kUnknowable,  ///< Postgres has been out of reach for longer than the grace. 503
};

/// A name's set that is asked by views.
struct ViewHash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's name.
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
using NameSet = std::unordered_set<std::string, ViewHash, std::equal_to<>>;

/// One row of client_entitlement.
struct Entitlement {
    bool has_all_events = false;
    bool has_all_feed_types = false;
    NameSet events;
    NameSet feed_types;

    [[nodiscard]] bool covers(const FeedPath& path) const {
        return (has_all_events || events.contains(path.event)) &&
               (has_all_feed_types || feed_types.contains(path.feed_type));
    }
};

/// A digest is random already.
struct DigestHash {
    std::size_t operator()(const KeyDigest& digest) const noexcept {
        std::size_t hash = 0;
        std::memcpy(&hash, digest.data(), sizeof hash);
        return hash;
    }
};

/// All that decides about a request, as one read of Postgres found it. Immutable.
struct KeySnapshot {
    std::unordered_map<KeyDigest, std::int64_t, DigestHash> client_of_key;  ///< Keys that hold now.
    std::unordered_map<std::int64_t, std::vector<Entitlement>> entitlements;
    NameSet events;
    NameSet feed_types;          ///< Definitions that are on.
    core::SteadyTime read_at{};  ///< Before the read began.

    /// Says nothing of the grace.
    [[nodiscard]] Verdict judge(const KeyDigest& key, const FeedPath& path) const;
    [[nodiscard]] bool holds(const KeyDigest& key) const { return client_of_key.contains(key); }
};

/// Keys, entitlements, events and definitions in memory: no request asks a database. One thread refreshes it; the newest
/// snapshot stands. Threads: thread-safe.
class KeyRing {
public:
    /// `grace`: how long a snapshot answers after the read that gave it began. Then the ring says kUnknowable until a
    /// read succeeds: a key that was revoked meanwhile must not open for ever.
    KeyRing(std::chrono::milliseconds grace, core::Clock& clock) : grace_(grace), clock_(clock) {}

    /// Reads everything anew, in one snapshot of Postgres. Throws core::Failure; the old snapshot stands then.
    void refresh(store::Session& session);
    /// Puts one in place, for refresh() and for tests.
    void replace(KeySnapshot snapshot);

    /// Grows with each snapshot. A reader keeps the snapshot until this moves: asking for it costs a lock.
    [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
    /// Never null; empty before the first read.
    [[nodiscard]] std::shared_ptr<const KeySnapshot> snapshot() const;
    [[nodiscard]] bool is_fresh(const KeySnapshot& snapshot, core::SteadyTime now) const {
        return snapshot.read_at != core::SteadyTime{} && now - snapshot.read_at <= grace_;
    }
    [[nodiscard]] core::Clock& clock() const { return clock_; }

private:
    std::chrono::milliseconds grace_;
    core::Clock& clock_;
    std::atomic<std::uint64_t> generation_{0};
    core::Guarded<std::shared_ptr<const KeySnapshot>> snapshot_{std::make_shared<const KeySnapshot>()};
};

/// One thread's view of a ring, which costs no lock while nothing changes. Threads: confined.
class KeyView {
public:
    explicit KeyView(const KeyRing& ring) : ring_(ring), seen_(ring.generation()), snapshot_(ring.snapshot()) {}

    /// `now` is read after the request came.
    [[nodiscard]] Verdict judge(const KeyDigest& key, const FeedPath& path, core::SteadyTime now);
    /// For a path that names no file: is the key at least one that holds?
    [[nodiscard]] Verdict judge_key(const KeyDigest& key, core::SteadyTime now);

private:
    const KeySnapshot& current();

    const KeyRing& ring_;
    std::uint64_t seen_;
    std::shared_ptr<const KeySnapshot> snapshot_;
};

}  // namespace ftlfeed::serve
