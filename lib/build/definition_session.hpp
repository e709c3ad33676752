#pragma once

#include <pqxx/result>
#include <pqxx/transaction_base>
#include <string>

#include <ftlfeed/build/definition.hpp>

namespace ftlfeed::build {

/// Pins what would make equal data give other bytes (time zone, date and number forms, the schemas that names are looked
/// up in) and the time limit, until the transaction ends.
void pin_settings(pqxx::transaction_base& tx, const ResolverLimits& limits);

/// Runs a definition's SELECT as ftl_feed_reader, as `SELECT columns FROM (sql) AS names`, with $1 = event and $2 = filter,
/// both text. Each of `columns` is cast, so that the kept plan's result never changes its type. The transaction stays in
/// that role. Throws core::Failure::permanent when the SELECT writes or locks.
pqxx::result run_select(pqxx::transaction_base& tx, const std::string& columns, const std::string& sql,
                        const std::string& names, const std::string& event, const std::string& filter);

}  // namespace ftlfeed::build
