#include <ftlfeed/deliver/send_decision.hpp>

namespace ftlfeed::deliver {

SendStep next_step(const DocumentFacts& document, const ProvenFacts& proven, const Place& place, OnRetire on_retire,
                   core::SystemTime now) {
    if (proven.sent >= document.version) return SendStep::kNothing;
    if (document.is_retired) {
        // A receiver that the settings no longer name is out of reach: what lies there stays.
        const bool holds_it = !proven.sent_hash.empty() && proven.place.target == place.target;
        return on_retire == OnRetire::kDelete && holds_it ? SendStep::kDelete : SendStep::kKeep;
    }
    const bool is_equal = !proven.sent_hash.empty() && proven.sent_hash == document.body_hash && proven.place == place;
    if (!is_equal) return SendStep::kSend;
    if (proven.sent.epoch == document.version.epoch) return SendStep::kEqual;
    // The last seconds before a fail-over may be lost with their proofs: what changed shortly before goes again.
    return document.changed_at <= now - kResendAfterEpochMove ? SendStep::kMoveOn : SendStep::kSend;
}

}  // namespace ftlfeed::deliver
