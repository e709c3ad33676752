#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <pqxx/connection>
#include <pqxx/transaction>
#include <string>
#include <thread>
#include <vector>

namespace ftl::test::outbox {

/// What one reader made of all the rows that were committed: read from the tables, after everything is quiet.
struct Verdict {
    std::int64_t rows = 0;
    std::int64_t skipped = 0;
    std::int64_t repeated = 0;
    std::int64_t ghosts = 0;  ///< Delivered, but never committed.

    [[nodiscard]] bool is_exact() const { return skipped == 0 && repeated == 0 && ghosts == 0; }
};
std::ostream& operator<<(std::ostream& out, const Verdict& verdict);

/// Makes the table that readers under test deliver into. It has no unique key on purpose: repeats must show.
void make_sink(const std::string& uri);

/// Compares what `consumer` delivered with the outbox's rows of Writer and commit_each, of which nothing may have been
/// trimmed.
[[nodiscard]] Verdict judge(const std::string& uri, const std::string& consumer);

/// The record ids that `consumer` delivered, in order of delivery.
[[nodiscard]] std::vector<std::string> delivered(const std::string& uri, const std::string& consumer);

/// A writer's transaction on a connection of its own; rolled back unless it ends otherwise.
class Writer {
public:
    explicit Writer(const std::string& uri) : connection_(uri), tx_(std::make_unique<pqxx::work>(connection_)) {}

    /// Touches the record `test:ID`, without an event: one row.
    Writer& touch(const std::string& id);
    Writer& run(const std::string& sql);
    [[nodiscard]] std::string value(const std::string& sql);
    void commit();
    void abort();
    /// Ends the transaction here; another session commits it by `COMMIT PREPARED`.
    void prepare(const std::string& gid);

private:
    pqxx::connection connection_;
    std::unique_ptr<pqxx::work> tx_;
};

/// Touches each id in a transaction of its own.
void commit_each(const std::string& uri, const std::vector<std::string>& ids);

/// Somebody else's transactions: each takes an id and ends, one after the other, until the thread is stopped.
[[nodiscard]] std::jthread passing_transactions(std::string uri);

/// Runs one statement outside a transaction, and returns its first value as text.
std::string run_sql(const std::string& uri, const std::string& sql);

}  // namespace ftl::test::outbox
