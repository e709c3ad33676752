#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::outbox {

inline constexpr std::chrono::milliseconds kOldTransactionDefault{60000};

/// A transaction of the cluster, in any database, that holds vacuum back. The reader does not wait for it (R11), but
/// nothing that died since its start can be cleaned, and each poll looks for its rows.
struct OldTransaction {
    std::string subject;      ///< Names it for as long as it lives: `open PID START` or `prepared GID`.
    std::string description;  ///< Who, where, since when, and how to end it.
};

/// The oldest first, 20 at most. Sees other users' sessions only with the role pg_monitor (or pg_read_all_stats).
[[nodiscard]] std::vector<OldTransaction> old_transactions(
    store::Session& session, std::chrono::milliseconds older_than = kOldTransactionDefault);

/// Raises the alert `outbox.old_transaction` for each of them and clears it for those that ended. To be called every
/// 30 s or so. Returns how many there are.
int alert_old_transactions(store::Session& session, std::chrono::milliseconds older_than = kOldTransactionDefault);

}  // namespace ftlfeed::outbox
