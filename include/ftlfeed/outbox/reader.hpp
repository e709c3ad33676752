#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/record_ref.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::outbox {

struct OutboxRow {
    std::int64_t id = 0;
    core::RecordRef record;
    core::SystemTime created_at;  ///< Postgres's clock when the row was written, microseconds.
    bool operator==(const OutboxRow&) const = default;
};

/// Reads the outbox for one consumer: skips no late commit, repeats none, waits for no long transaction elsewhere.
/// The cursor keeps the snapshot of its last read; a batch is every row visible in the new snapshot and not in the old
/// one. Source: PgQ's batch_event_sql; docs/outbox.md tells the rules R1 to R16. Threads: confined. Any number of
/// readers of one consumer may compete; the cursor's row lock keeps them apart.
class Reader {
public:
    struct Options {
        std::size_t page_rows_max = 500;
        /// Moves an idle cursor's snapshot this often, by Postgres's clock, or after this many transactions: an old
        /// snapshot keeps rows from being trimmed. In between an idle poll writes nothing.
        std::chrono::milliseconds idle_move_interval{10000};
        std::int64_t idle_move_xids = 10000;
        /// The server ends a statement, a wait for the cursor's lock, or a pause of ours that lasts longer than this
        /// while a page is read: a reader that was stopped must not hold the cursor for more than 5 s.
        std::chrono::milliseconds hold_limit{4000};
        /// Is a page on disk when read_page() returns? Without it a crash of the server may take the cursor and all that
        /// `apply` wrote back together, so the page is read again; nothing is lost. Only for a consumer that does
        /// nothing outside the database before a later commit of its own has waited for the disk.
        bool waits_for_disk = true;
    };
    /// Checks the cluster (R7) and moves the epoch on after a fail-over (store::check_epoch): make a new Reader with
    /// each new session. Throws Failure::permanent naming `ftlctl outbox rebase` when the cursor belongs to another
    /// cluster, or `ftlctl outbox register` when there is none.
    Reader(store::Session& session, std::string consumer, Options options);
    Reader(store::Session& session, std::string consumer);

    /// What a batch leads to, in the reader's own transaction: order-free, so that a window may be paged by txid. Rows
    /// that it adds to the outbox itself are read in a later page.
    using Apply = std::function<void(pqxx::transaction_base& tx, std::span<const OutboxRow> rows)>;

    /// Reads at most one page and applies it; commits both together. Returns the rows read; 0 = caught up. It looks first
    /// whether there is anything, which writes nothing (R5); a caller that was notified spares itself that look.
    /// Retry safe: yes, also when the commit was in doubt: the cursor knows.
    std::size_t read_page(const Apply& apply, bool was_notified = false);

private:
    [[nodiscard]] bool has_work();

    store::Session& session_;
    std::string consumer_;
    Options options_;
};

/// Makes a cursor that starts now: what was committed before the call is not read. Returns false when it exists.
bool register_consumer(store::Session& session, const std::string& consumer);
/// As above, in a transaction of the caller's; what that adds to the outbox is read.
bool register_consumer(pqxx::transaction_base& tx, const std::string& consumer);
/// Removes it, so that it no longer keeps rows from being trimmed. Returns false when there was none.
bool unregister_consumer(store::Session& session, const std::string& consumer);

struct ConsumerStatus {
    std::string consumer;
    std::int64_t rows_behind = 0;  ///< Committed rows that it has not read; counted up to 100,000. 0 when foreign.
    double oldest_unread_seconds = 0;
    bool is_foreign = false;  ///< Belongs to another cluster: needs a rebase.
};
struct Status {
    std::int64_t rows = 0;
    std::vector<ConsumerStatus> consumers;
    /// Transactions (open or prepared) older than a minute that hold vacuum back: named, since people must end them.
    std::vector<std::string> old_transactions;
};
[[nodiscard]] Status status(store::Session& session);

/// After a restore into another cluster: marks every file dirty (`feed_dirty`), empties the outbox, sets every cursor
/// to now and this cluster, touches every event (its files are enumerated again) and moves the epoch on. Exact, since
/// consumers are order-free and unchanged files send nothing; writers need not stop. Returns the files marked.
std::int64_t rebase(store::Session& session);

/// Deletes rows that no cursor and no running build (`feed_dirty.claim_xmin`) can still need; never by age. At most
/// `rows_max` a call. Returns how many. Deletes nothing while there is no cursor, or one that needs a rebase.
std::int64_t trim(store::Session& session, std::size_t rows_max = 10000);

}  // namespace ftlfeed::outbox
