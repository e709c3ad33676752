#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <ftlfeed/capture/snapshot.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::capture {

/// Why an answer was asked for; stored with what it brought.
enum class Source { kLive, kBackfill, kReconcile, kPostmatch, kReplay };
[[nodiscard]] const char* source_name(Source source);

/// What a happening is worth that the provider took back.
enum class OnWithdrawal {
    kReverse,  ///< Nothing any more: its bumps are reversed.
    kKeep,     ///< What it was worth before.
};

/// How an answer came to us.
struct Asked {
    std::int64_t ticket = 0;  ///< Drawn before the request was sent: orders the answers of a fixture.
    Source source = Source::kLive;
    bool is_by_id = false;  ///< For this fixture alone: confirms what a list no longer has.
    /// When the provider answered, by its clock.
    std::optional<std::chrono::sys_seconds> provider_time = std::nullopt;
};

/// What became of a snapshot. A value: all of these settle the matter.
struct StoreResult {
    enum class Outcome {
        kStored,     ///< Something changed.
        kUnchanged,  ///< Everything was known already.
        kUnmapped,   ///< No `event` row maps its season: not ours, nothing written.
    };
    Outcome outcome = Outcome::kUnchanged;
    std::int64_t row_version = 0;     ///< Of the fixture row after the transaction.
    bool is_terminal = false;         ///< As stored.
    bool is_over = false;             ///< Terminal, and the quiet time has passed: nothing more is expected.
    bool is_incomplete = false;       ///< An event of the newest answer lies in quarantine.
    bool has_open_questions = false;  ///< Something is missing, or has another id, and is not settled: look again.
    int events_new = 0;
    int revisions = 0;
    int withdrawals = 0;  ///< Among the revisions.
    int ledger_entries = 0;
    int quarantined = 0;  ///< Payloads that went into quarantine now, for the first time.
};

/// Draws a ticket. Do it before the request is sent: it orders the answers of a fixture. One statement.
[[nodiscard]] std::int64_t draw_ticket(store::Session& session);

/// Stores fixtures, each in one transaction: row, events, revisions, ledger, totals, price ticks, outbox, quarantine.
/// Idempotent: the same snapshot any number of times, in any order with others of its ticket, from any number of
/// processes, gives the same rows. Threads: immutable; each call uses the session of its caller.
class Ingest {
public:
    struct Options {
        /// Bumps after `fixture.settled_at` are always recorded; do they reach the totals?
        bool bump_after_settlement = false;
        OnWithdrawal on_withdrawal = OnWithdrawal::kReverse;
        /// So many complete answers in a row without an event withdraw it where nothing else proves it.
        std::int32_t absences_max = 3;
        /// By the provider's clock, from the first terminal state to the end: full time shows briefly before extra time,
        /// and the last goal may come after it.
        std::chrono::seconds quiet{120};
    };
    explicit Ingest(std::string provider) : Ingest(std::move(provider), Options{}) {}
    Ingest(std::string provider, Options options) : provider_(std::move(provider)), options_(options) {}

    /// An answer older than the stored one only adds ids that are not known.
    /// Throws core::Failure; in_doubt(): do it again. Retry safe: yes.
    StoreResult store(store::Session& session, const FixtureSnapshot& snapshot, const Asked& asked) const;
    /// Keeps a fixture that could not be read. Returns true when it is new: then an alert was raised.
    bool quarantine(store::Session& session, const RejectedFixture& fixture) const;

private:
    std::string provider_;
    Options options_;
};

}  // namespace ftlfeed::capture
