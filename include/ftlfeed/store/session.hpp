#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::store {

/// How to reach Postgres. One primary, directly: a transaction pooler in between loses session locks and LISTEN.
struct ConnectionSettings {
    std::string uri;                      ///< libpq URI or keyword string; may hold a password: never logged.
    core::Secret password;                ///< Beats the URI's; empty = as the URI says.
    std::string application = "ftlfeed";  ///< Shown in pg_stat_activity.
    std::chrono::milliseconds connect_timeout{5000};
    std::chrono::milliseconds statement_timeout{30000};  ///< The server ends a statement after it.
    std::chrono::milliseconds lock_timeout{10000};
    std::chrono::milliseconds idle_in_transaction_timeout{10000};
    /// A whole unit of work: a watchdog shuts the socket down after it, since libpqxx has no limit of its own.
    std::chrono::milliseconds work_limit{60000};
};

/// Does this URI or keyword string hold a password? Throws core::InvalidInput when it cannot be read.
[[nodiscard]] bool has_password(const std::string& uri);

/// One connection to the primary. Owns it. It is thrown away at its first break: libpqxx 6 would reconnect silently,
/// with the session's advisory locks gone. Threads: confined to one thread at a time. Errors: pqxx's are translated to
/// core::Failure (in_doubt() when the connection broke during COMMIT); other exceptions of `work` roll back and pass
/// through.
class Session {
public:
    /// What one unit of work does with its transaction.
    using Work = std::function<void(pqxx::transaction_base& tx)>;

    /// Connects. Refuses a server in recovery: everything here reads and writes the primary. Blocks until
    /// connect_timeout.
    explicit Session(const ConnectionSettings& settings);
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    /// READ COMMITTED, committed at the end.
    void write(const Work& work);
    /// As write(), and repeated whole, at most 5 times with jitter, when Postgres answers 40P01 or 40001.
    void write_retrying(const Work& work);
    /// READ COMMITTED READ ONLY.
    void read(const Work& work);
    /// REPEATABLE READ READ ONLY: one snapshot for all statements.
    void read_snapshot(const Work& work);
    /// No transaction: each statement is one of its own. For session locks, LISTEN, CREATE DATABASE.
    void without_transaction(const Work& work);

    /// True after a break: every further call throws.
    [[nodiscard]] bool is_broken() const noexcept;
    [[nodiscard]] int backend_pid() const noexcept;
    /// Releases every session advisory lock; a broken session has none.
    void unlock_all() noexcept;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Runs an SQL text of several statements (a migration) in `tx`.
void execute_script(pqxx::transaction_base& tx, const std::string& sql);

}  // namespace ftlfeed::store
