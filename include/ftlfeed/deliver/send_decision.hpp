#pragma once

#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/version.hpp>

namespace ftlfeed::deliver {

enum class OnRetire { kKeep, kDelete };

/// The newest version of a file, for one destination. Hashes are 32 raw bytes.
struct DocumentFacts {
    core::Version version;  ///< With the destination's render.
    std::string body_hash;
    core::SystemTime changed_at;
    bool is_retired = false;
};

/// Where a file goes: `target` names the receiver (transport, host, folder), `path` the place below it.
struct Place {
    std::string target;
    std::string path;

    bool operator==(const Place&) const = default;
};

/// What the destination is known to hold of a file.
struct ProvenFacts {
    core::Version sent;     ///< {0,0,0} = nothing yet.
    std::string sent_hash;  ///< Empty when it holds nothing (never sent, or deleted).
    Place place;
};

enum class SendStep {
    kNothing,  ///< It has this version or a newer one.
    kSend,
    kEqual,   ///< It holds these very bytes at this place: recorded as delivered-equal, without a send.
    kMoveOn,  ///< As kEqual, after an epoch move: the sent version moves on, the proof keeps the version that was sent.
    kDelete,  ///< The file is retired and the destination wants it removed.
    kKeep,    ///< The file is retired and stays where it is.
};

/// After an epoch move (a fail-over may have lost the last seconds) files changed this recently are sent again even
/// when the bytes seem equal.
constexpr std::chrono::hours kResendAfterEpochMove{1};

/// What to do with a file that is owed. `now` is Postgres's clock. Pure.
[[nodiscard]] SendStep next_step(const DocumentFacts& document, const ProvenFacts& proven, const Place& place,
                                 OnRetire on_retire, core::SystemTime now);

}  // namespace ftlfeed::deliver
