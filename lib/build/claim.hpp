#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <pqxx/transaction_base>
#include <string>
#include <vector>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::build {

/// A dirty mark names a file, or, ending in `/*`, the files of one event and type that are to be listed anew.
struct MarkedKey {
    std::string event;
    std::string feed_type;
    std::string filter;
    bool is_enumeration = false;
};
/// Pure. Throws core::InvalidInput when it is neither.
[[nodiscard]] MarkedKey parse_marked_key(const std::string& doc_key);
[[nodiscard]] std::string enumeration_key(const std::string& event, const std::string& feed_type);

/// A file's session advisory lock, taken without waiting, and given back at the end with all others of the session.
class FileLock {
public:
    FileLock(store::Session& session, const std::string& doc_key);
    ~FileLock() { session_.unlock_all(); }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;
    [[nodiscard]] bool is_held() const { return is_held_; }

private:
    store::Session& session_;
    bool is_held_ = false;
};

/// What a builder took on. Stamps are Postgres's, as text, to the microsecond.
struct Claim {
    std::string doc_key;
    std::int64_t gen = 0;
    std::string first_touch;
    std::string last_touch;
    int failures = 0;
    /// The outbox cursor's snapshot when it was claimed, empty without a cursor: touches that it has not seen, and the
    /// build's snapshot has, led to the build as well.
    std::optional<std::string> marked_upto;
};

/// What became of an attempt to claim.
struct ClaimAttempt {
    std::optional<Claim> claim;
    std::string busy_doc_key;  ///< Due, but another session holds its lock; empty otherwise.
};

/// Takes the file that has waited longest, by its session advisory lock and the row's claim. One statement, committed:
/// the claim stands before the build's snapshot is taken. `skip`: files that were found busy.
ClaimAttempt try_claim(store::Session& session, const std::string& identity, const std::vector<std::string>& skip);

/// How long until the next mark is due, 0 when one is; none when there is no mark.
std::optional<std::chrono::milliseconds> time_to_next_due(store::Session& session);

/// A condition of SQL: does this session hold the lock of the file $1?
const std::string& holds_lock_sql();
/// Throws core::Failure::busy unless this session still holds the file's lock: asked in the last statement before each
/// commit.
void check_lock(bool is_held);
void check_lock(pqxx::transaction_base& tx, const std::string& doc_key);

/// The statement after the build's commit: ends the mark if nothing happened since, else ends the claim alone.
/// `snapshot` is the build's. Returns whether the file is clean now.
/// Throws core::Failure::busy when this session no longer holds the lock: then it touches nothing.
bool finish_claim(store::Session& session, const Claim& claim, const std::string& identity,
                  const std::string& snapshot);

/// Ends the claim of a build that failed: counts it, and lets the file wait for `delay`.
void fail_claim(pqxx::transaction_base& tx, const Claim& claim, const std::string& identity, const std::string& error,
                std::chrono::milliseconds delay);

}  // namespace ftlfeed::build
