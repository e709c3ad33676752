#pragma once

#include <cstdint>
#include <string_view>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/deadline.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/deliver/remote_path.hpp>
#include <ftlfeed/deliver/send_outcome.hpp>

namespace ftlfeed::deliver {

/// What a transport asks while it sends. Threads: called on the sender's own thread.
class SendGuard {
public:
    virtual ~SendGuard() = default;
    /// By when the send must be over. It moves on with each renewal of the lease: ask before each blocking step.
    [[nodiscard]] virtual core::Deadline deadline() const = 0;
    /// Asked once, right before the step that publishes (rename, the PUT's first byte): is the lease still ours and
    /// this version still the one to publish? On false the transport removes what it made and returns Withheld.
    [[nodiscard]] virtual bool may_publish() = 0;
};

/// The bytes of one version, as they are stored.
struct Content {
    std::string_view body;
    std::string_view sha256;  ///< 32 raw bytes, of `body`.
    std::string_view gz;      ///< `body` in one gzip stream, for receivers that keep it so.
    std::string_view content_type;
    core::SystemTime last_modified;  ///< Whole seconds; strictly grows from version to version.
};

/// One version of one file, as it is sent. Everything is borrowed for the length of the call.
struct Outgoing {
    AssignmentId assignment;
    const core::FeedKey& key;
    const core::Version& version;
    std::int64_t occasion = 0;  ///< 0: the change itself. Grows when a version that was proven has to be sent again.
    core::SystemTime changed_at;
    const RemotePath& path;
    Content content;  ///< Empty for a retired file that is to be removed.
};

/// What was found at the receiver, after the answer to a send was lost or its sender died.
enum class Look {
    kThere,     ///< That very version was published and is what readers get.
    kNotThere,  ///< It was not, or something else has taken its place.
    kCannot,    ///< The receiver cannot be asked (a webhook): only sending again settles it.
};

/// Publishes file versions on one destination. What is wrong with one file is returned as Refused; what is wrong with
/// the destination is thrown as core::Failure: permanent() when it lasts (bad login, no rights), in_doubt() when the
/// bytes went out and the answer was lost.
/// Threads: confined to the sender thread that owns the destination at the time. Blocks until guard.deadline() at most.
class Transport {
public:
    virtual ~Transport() = default;

    /// Replaces the file by `file.content.body` in one step: readers see the old file or the new one, never a part. An end by
    /// deadline or failure leaves no half file under the final name. Retry safe: yes.
    [[nodiscard]] virtual SendOutcome put(const Outgoing& file, SendGuard& guard) = 0;

    /// Removes a retired file; `file.version` is that of its end. One that is not there is as good as removed. Retry
    /// safe: yes.
    [[nodiscard]] virtual SendOutcome remove(const Outgoing& file, SendGuard& guard) = 0;

    /// Was this version published? Never by size alone: two versions often have the same. Changes nothing but its own
    /// temporary name.
    [[nodiscard]] virtual Look look(const Outgoing& file, SendGuard& guard) = 0;

    /// Tries for a person whether the destination would take files, and leaves none there. Throws as put(). By default:
    /// core::InvalidInput, since not every transport can.
    [[nodiscard]] virtual SendOutcome test(SendGuard& guard);
};

}  // namespace ftlfeed::deliver
