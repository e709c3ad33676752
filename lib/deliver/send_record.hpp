#pragma once

#include <optional>
#include <string>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/deliver/send_outcome.hpp>
#include <ftlfeed/store/session.hpp>

#include "deliver/body_cache.hpp"
#include "deliver/destination_table.hpp"

namespace ftlfeed::deliver {

/// A version that is being sent, as `delivery_state.sending` tells it.
struct Sending {
    core::FeedKey key;
    core::Version version;
    core::SystemTime changed_at;     ///< Of this version.
    core::SystemTime waiting_since;  ///< The oldest change that it settles.
    core::SystemTime started_at;     ///< Postgres's clock.
    Place place;
    BodyPtr body;               ///< None for a removal.
    std::int64_t occasion = 0;  ///< Of the proof that this send is to lead to.
};

/// What begin_send() found.
struct Begun {
    enum class Kind {
        kNotOurs,     ///< Another worker owns the destination.
        kGone,        ///< There is no such document any more.
        kMustSettle,  ///< An earlier send of this file has no outcome yet.
        kSettled,     ///< Nothing had to be sent, and the tables say so now.
        kUnreadable,  ///< The stored body is damaged or gone.
        kSend,
        kRemove,
    };
    Kind kind = Kind::kNotOurs;
    core::Version version;           ///< Settled, or being sent.
    std::optional<Sending> sending;  ///< For kSend and kRemove.
    std::string reason;              ///< For kUnreadable.
};

/// A file that is about to be sent: what the queue knows.
struct Wanted {
    core::FeedKey key;
    core::SystemTime waiting_since;
    std::string path;           ///< By the name template.
    bool had_failures = false;  ///< Of the file or the destination: there may be an alert to clear.
};
/// Loads the newest version and decides (send_decision.hpp). What needs no send is recorded at once; for the rest
/// `sending` is written: committed before the first byte leaves. One transaction. Throws core::Failure when Postgres is
/// away.
[[nodiscard]] Begun begin_send(store::Session& session, BodyCache& bodies, const DestinationSettings& settings,
                               const WorkerIdentity& us, const Wanted& wanted);

/// Right before the publishing step: is the destination still ours, `sending` still this one and nothing newer proven?
[[nodiscard]] bool may_publish(store::Session& session, AssignmentId assignment, const WorkerIdentity& us,
                               const Sending& sending);

/// How a send was proven: the word in `delivery_attempt.outcome`.
enum class ProofKind { kDelivered, kDeleted };
/// The proof, in one guarded statement, never over a newer one; once for each version and occasion. Clears the file's
/// failures, and the destination's and its alerts when `had_failures`. Safe to repeat.
struct Proof {
    ProofKind kind = ProofKind::kDelivered;
    Stored stored;
    bool had_failures = false;
};
void prove(store::Session& session, const DestinationSettings& settings, const WorkerIdentity& us,
           const Sending& sending, const Proof& proof);

/// What a failed try leaves: the attempt, the pace of its scope, an alert when it is due.
struct FailedTry {
    enum class Scope { kDestination, kFile };
    Scope scope = Scope::kDestination;
    bool in_doubt = false;  ///< `sending` stays until the receiver was looked at.
    bool lasts = false;
    int failures = 1;
    std::chrono::milliseconds next_try_in{0};
    std::string error;
    core::Version version;           ///< What was tried.
    std::optional<Sending> sending;  ///< When it got as far as that.
};
void record_failure(store::Session& session, const DestinationSettings& settings, const WorkerIdentity& us,
                    const core::FeedKey& key, const FailedTry& failed);
/// The receiver wants nothing more: the destination is off from now on, with its reason and an alert of its own, which
/// stays until somebody switches it on again. With the failed attempt, in one transaction.
struct SwitchedOff {
    std::string reason;
    int failures = 1;
};
void switch_off(store::Session& session, const DestinationSettings& settings, const WorkerIdentity& us,
                const Sending& sending, const SwitchedOff& off);
/// The send was given up before it published.
void withdraw_sending(store::Session& session, AssignmentId assignment, const Sending& sending);

/// The send of this file that has no outcome yet, with its body; none when there is none. A version whose body is gone,
/// or that went to a receiver or a name that the settings no longer give, cannot be looked at: `body` is none then.
[[nodiscard]] std::optional<Sending> unfinished_send(store::Session& session, BodyCache& bodies,
                                                     const DestinationSettings& settings, const core::FeedKey& key);
/// What the tables say the destination holds of a file, with its body; none when it holds nothing or a send is open.
[[nodiscard]] std::optional<Sending> proven_file(store::Session& session, BodyCache& bodies,
                                                 const DestinationSettings& settings, const core::FeedKey& key);
/// The receiver holds something else than what was proven: the proof is history, the file is owed again.
void owe_again(store::Session& session, AssignmentId assignment, const core::FeedKey& key, const core::Version& proven);

constexpr const char* kFailingAlert = "deliver.failing";
constexpr const char* kFileRefusedAlert = "deliver.file_refused";
constexpr const char* kBehindAlert = "deliver.behind";
constexpr const char* kSwitchedOffAlert = "deliver.switched_off";

}  // namespace ftlfeed::deliver
