#pragma once

#include <string>
#include <string_view>

#include <ftlfeed/core/deadline.hpp>
#include <ftlfeed/core/version.hpp>
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

/// One version of one file, as it is sent. Bytes and hash are borrowed for the length of the call.
struct Outgoing {
    const RemotePath& path;
    const core::Version& version;
    std::string_view body;
    std::string_view sha256;  ///< 32 raw bytes, of `body`.
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

    /// Replaces the file by `file.body` in one step: readers see the old file or the new one, never a part. An end by
    /// deadline or failure leaves no half file under the final name. Retry safe: yes.
    [[nodiscard]] virtual SendOutcome put(const Outgoing& file, SendGuard& guard) = 0;

    /// Removes a retired file. One that is not there is as good as removed. Retry safe: yes.
    [[nodiscard]] virtual SendOutcome remove(const RemotePath& path, SendGuard& guard) = 0;

    /// Was this version published? Never by size alone: two versions often have the same. Changes nothing but its own
    /// temporary name.
    [[nodiscard]] virtual Look look(const Outgoing& file, SendGuard& guard) = 0;
};

}  // namespace ftlfeed::deliver
