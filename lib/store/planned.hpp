#pragma once

#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string>
#include <utility>

namespace ftlfeed::store {

/// The name under which the session that runs this thread's unit of work has prepared `sql`; it is prepared at its
/// first use. nullptr in a transaction that is not of a Session (a user's own), where nothing can be kept, and when the
/// session has prepared 500 others.
[[nodiscard]] const std::string* planned_name(pqxx::transaction_base& tx, const std::string& sql);

/// As exec_params, of a statement that each session parses once and Postgres plans once, where one plan fits all values
/// (plan_cache_mode auto): parsing and planning cost more than running does for the short statements of a hot path.
/// For texts that come again, since preparing is a round trip of its own: a session keeps each that it has seen. A plan
/// made while a table was small is made anew when autovacuum has analysed it. Its columns have types of their own (a cast,
/// where a definition's text says them): Postgres refuses a kept plan whose columns have changed.
template <typename... Values>
pqxx::result exec_planned(pqxx::transaction_base& tx, const std::string& sql, Values&&... values) {
    if (const auto* name = planned_name(tx, sql)) return tx.exec_prepared(*name, std::forward<Values>(values)...);
    return tx.exec_params(sql, std::forward<Values>(values)...);
}

}  // namespace ftlfeed::store
