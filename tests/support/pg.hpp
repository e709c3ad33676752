#pragma once

#include <pqxx/connection>
#include <pqxx/result>
#include <string>

namespace ftl::test {

/// What a new test database holds.
enum class Content { kMigrated, kNothing };

/// A Postgres database of its own for one test case, on the server that FTL_TEST_PG names (a libpq URI of a superuser;
/// tests/run.sh sets it). Dropped at the end, unless FTL_TEST_PG_DISPOSABLE says that the whole server goes away.
/// Cost: 70 ms (a clone of a template that is migrated once for each server and set of migrations).
/// Threads: may be shared by several; each call makes a connection of its own.
class Database {
public:
    /// Throws std::runtime_error when FTL_TEST_PG is not set, pqxx::broken_connection when the server is not there.
    explicit Database(Content content = Content::kMigrated);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }

    /// The libpq URI of this database.
    [[nodiscard]] const std::string& uri() const { return uri_; }

    [[nodiscard]] pqxx::connection connect() const { return pqxx::connection(uri_); }

    /// Runs statements outside a transaction block, as psql would; several in one string are one transaction.
    pqxx::result exec(const std::string& sql) const;

    /// The first column of the first row as text; "NULL" for a null, "" when there is no row.
    [[nodiscard]] std::string value(const std::string& sql) const;

private:
    std::string name_;
    std::string uri_;
};

/// The libpq URI of the server's own database, from FTL_TEST_PG. Throws std::runtime_error when that is not set.
[[nodiscard]] std::string server_uri();

}  // namespace ftl::test
