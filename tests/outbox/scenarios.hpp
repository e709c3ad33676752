#pragma once

#include <cstddef>
#include <string>

#include "history.hpp"
#include "readers.hpp"

namespace ftl::test::outbox {

/// Interleavings that one reader passes and others do not. Each uses a database of its own, given by its URI, and
/// returns how a reader that worked through it is judged.

/// A draws the lower id and commits last; the reader has been past it by then.
[[nodiscard]] Verdict late_committer(const std::string& uri, Method method);

/// A transaction of 100 savepoints, half of them rolled back, commits after a later one: more than the 64
/// subtransactions that a snapshot can name.
[[nodiscard]] Verdict hundred_savepoints(const std::string& uri, Method method);

/// A row of a prepared transaction turns visible by COMMIT PREPARED, long after later ones were read.
[[nodiscard]] Verdict prepared_transaction(const std::string& uri, Method method);

/// Rolled back transactions leave holes in the ids and xids.
[[nodiscard]] Verdict aborted_transactions(const std::string& uri, Method method);

/// Pages of three; between two of them new rows are committed and a transaction that is older than the window.
[[nodiscard]] Verdict commits_between_pages(const std::string& uri, Method method);

/// The reader waits for the cursor's lock while a row is committed and read by another.
[[nodiscard]] Verdict wait_for_the_cursor(const std::string& uri, Method method);

/// Rows read while a writing transaction is open in another database of the server: 1 is there to be read.
[[nodiscard]] std::size_t read_beside_open_transaction(const std::string& uri, const std::string& other_uri,
                                                       Method method);

/// Each of `transactions` commits one row; some overtake others. Read in pages of three at every few commits.
[[nodiscard]] Verdict many_small_transactions(const std::string& uri, Method method, int transactions);

/// Ends what a failed test may leave prepared, at the end of the scope.
class PreparedGuard {
public:
    PreparedGuard(std::string uri, std::string gid) : uri_(std::move(uri)), gid_(std::move(gid)) {}
    ~PreparedGuard();
    PreparedGuard(const PreparedGuard&) = delete;
    PreparedGuard& operator=(const PreparedGuard&) = delete;
    [[nodiscard]] const std::string& gid() const { return gid_; }

private:
    std::string uri_;
    std::string gid_;
};

/// A name for a prepared transaction: they are shared by the whole server.
[[nodiscard]] std::string unique_gid();

/// A prepared transaction that has touched the record `test:ID`. Rolled back at the end of the scope, unless it was
/// committed.
class PreparedTouch {
public:
    PreparedTouch(std::string uri, const std::string& id);
    [[nodiscard]] const std::string& gid() const { return guard_.gid(); }
    void commit() const;

private:
    std::string uri_;
    PreparedGuard guard_;
};

}  // namespace ftl::test::outbox
