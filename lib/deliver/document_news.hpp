#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/deliver/pace.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// A document whose newest version became visible.
struct DocumentSeen {
    core::FeedKey key;
    core::Version version;  ///< render = 0: each destination has its own.
    core::SystemTime changed_at;
};

/// Finds new versions in feed_document. It keeps the snapshot of its last look and reads what has become visible since,
/// never `seq > last`: seq is drawn before the commit, so a version may become visible after a greater one.
/// Threads: confined. Starts afresh with each new session.
class DocumentNews {
public:
    /// Starts from now: what is visible already is found by compare_destination(), called after this.
    void start(store::Session& session);
    [[nodiscard]] std::vector<DocumentSeen> read(store::Session& session);

private:
    std::string snapshot_;
};

/// One file that a destination is owed, or whose sending was never finished.
struct OwedSeen {
    core::FeedKey key;
    core::Version version;
    core::SystemTime changed_at;
    core::SystemTime waiting_since;
    StoredTries tries;
    bool is_owed = false;     ///< The version is newer than what is proven.
    bool is_sending = false;  ///< Somebody wrote `sending` and neither proof nor failure.
};
/// What a destination is owed by the tables alone: at start, switch-on, take-over, or after the link was lost.
[[nodiscard]] std::vector<OwedSeen> compare_destination(store::Session& session, const DestinationSettings& settings);

}  // namespace ftlfeed::deliver
