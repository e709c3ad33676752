#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/deliver/pace.hpp>

namespace ftlfeed::deliver {

/// A version of a file that a destination is to get.
struct Owed {
    core::Version version;
    core::SystemTime changed_at;  ///< Postgres's clock: the change that led to it.
};

/// One thing to do for a destination.
struct Job {
    enum class Kind {
        kSend,       ///< Send what is owed.
        kSettle,     ///< A send's outcome is unknown: look at the receiver first.
        kLookAgain,  ///< The sender that was replaced can have nothing under way any more: is our file still there?
    };
    Kind kind = Kind::kSend;
    core::FeedKey key;
    core::Version version;           ///< The newest that is owed; none for the other two kinds.
    core::SystemTime waiting_since;  ///< changed_at of the oldest change that waits.
};

/// What one destination is owed: keys and versions, no bodies. Of each file only the newest waiting version; one file
/// is under way at a time. Two scopes of failure: the destination's and each file's. Pure: the time is passed in.
/// Threads: confined (the owner guards it).
class DestinationQueue {
public:
    DestinationQueue(Pace pace, Tries tries) : pace_(pace), tries_(tries) {}

    /// News: a version was published. False when one as new waits or is under way already. It replaces an older one
    /// that waits, and may bring a delayed try forward; the oldest change that waits is remembered.
    bool owe(const core::FeedKey& key, const Owed& owed, core::SteadyTime now);
    /// What the tables tell at start, switch-on or take-over: the version owed, the oldest change that waits and the
    /// file's own failures. No news: it brings no try forward.
    void restore(const core::FeedKey& key, const Owed& owed, core::SystemTime waiting_since, const Tries& tries,
                 core::SteadyTime now);
    /// The outcome of a send of this file is unknown: it is looked at before anything else is done with it.
    void settle_first(const core::FeedKey& key, core::SteadyTime now);
    /// Looks at the file once more at `at`.
    void look_again(const core::FeedKey& key, core::SteadyTime at);

    /// The next thing to do now, or nothing. It counts as under way until one of the next five calls.
    [[nodiscard]] std::optional<Job> take(core::SteadyTime now);

    /// The file under way is proven up to `version`. Resets the failures of both scopes.
    void succeeded(const core::Version& version, core::SteadyTime now);
    /// A look is over and proved nothing new: no success, no failure. What is owed stays owed.
    void settled(core::SteadyTime now);
    /// Nothing was tried (lease lost, Postgres away): uses up no try. The destination rests until `not_before`.
    void put_back(core::SteadyTime not_before);
    /// The send failed for a reason of the destination's. What was under way is owed on, unless a newer one waits.
    void failed(const core::Failure& failure, core::SteadyTime now, double jitter);
    /// The receiver refused this file. Others go on.
    void refused(bool lasts, core::SteadyTime now, double jitter);

    /// Forgets a file (its definition is gone, or the destination no longer wants it), unless it is under way.
    void forget(const core::FeedKey& key);
    /// Somebody changed the settings: try at once. The count of failures stays; only success resets it.
    void settings_changed(const Pace& pace, core::SteadyTime now);

    /// When take() will have something, if nothing else happens. None: nothing waits, or one is under way.
    [[nodiscard]] std::optional<core::SteadyTime> wake_at() const;
    /// changed_at of the oldest change that waits or is under way.
    [[nodiscard]] std::optional<core::SystemTime> oldest_change() const;
    [[nodiscard]] std::size_t owed_files() const;
    [[nodiscard]] const Tries& tries() const { return tries_; }
    [[nodiscard]] Tries tries_of(const core::FeedKey& key) const;
    [[nodiscard]] bool is_under_way() const { return under_way_.has_value(); }
    [[nodiscard]] bool is_under_way(const core::FeedKey& key) const { return under_way_ && under_way_->job.key == key; }

private:
    struct File {
        std::optional<Owed> waiting;
        core::SystemTime waiting_since;
        core::SteadyTime queued_at = core::SteadyTime::min();
        Tries tries;
        bool must_settle = false;
        std::optional<core::SteadyTime> look_at;
        std::optional<std::pair<core::SteadyTime, std::uint64_t>> place;  ///< In by_time_.
    };
    struct UnderWay {
        Job job;
        std::optional<Owed> owed;  ///< As it was taken.
    };

    [[nodiscard]] static std::optional<core::SteadyTime> ready_at(const File& file);
    void place(const core::FeedKey& key, File& file);
    /// Ends what is under way: what was taken is owed again unless a newer one waits.
    File& end_under_way(core::SteadyTime queued_at);
    void drop_if_idle(const core::FeedKey& key);

    Pace pace_;
    Tries tries_;
    core::SteadyTime rest_until_ = core::SteadyTime::min();
    std::map<core::FeedKey, File> files_;
    std::map<std::pair<core::SteadyTime, std::uint64_t>, core::FeedKey> by_time_;
    std::optional<UnderWay> under_way_;
    std::uint64_t next_order_ = 1;
};

}  // namespace ftlfeed::deliver
