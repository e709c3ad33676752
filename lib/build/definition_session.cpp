#include "build/definition_session.hpp"

#include <fmt/format.h>

#include <pqxx/except>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/value.hpp>

#include "store/planned.hpp"

namespace ftlfeed::build {

namespace {

/// One statement for people often ends in a semicolon; inside parentheses that is a syntax error.
std::string without_semicolon(std::string sql) {
    const auto end = sql.find_last_not_of(" \t\r\n;");
    sql.erase(end == std::string::npos ? 0 : end + 1);
    return sql;
}

}  // namespace

void pin_settings(pqxx::transaction_base& tx, const ResolverLimits& limits) {
    // pg_temp comes last, or a temporary table could stand before one of ours.
    tx.exec(
        fmt::format("SET LOCAL search_path = pg_catalog, feed_data, pg_temp; SET LOCAL TimeZone = 'UTC';"
                    "SET LOCAL DateStyle = 'ISO, YMD'; SET LOCAL IntervalStyle = 'postgres';"
                    "SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex';"
                    "SET LOCAL xmlbinary = 'base64'; SET LOCAL lc_numeric = 'C'; SET LOCAL lc_monetary = 'C';"
                    "SET LOCAL lc_time = 'C'; SET LOCAL statement_timeout = {}",
                    limits.statement_timeout.count()));
}

pqxx::result run_select(pqxx::transaction_base& tx, const std::string& columns, const std::string& sql,
                        const std::string& names, const std::string& event, const std::string& filter) {
    tx.exec("SET LOCAL ROLE ftl_feed_reader");
    // As a subquery nothing but a SELECT is possible, and a data-modifying WITH is refused. The WITH in front gives both
    // parameters their type, wherever the definition uses them and if it does not. The line break ends a closing comment.
    const auto statement = "WITH ftl_parameters AS (SELECT $1::text, $2::text) SELECT " + columns + " FROM (\n" +
                           without_semicolon(sql) + "\n) AS " + names;
    try {
        return store::exec_planned(tx, store::checked(statement), store::checked(event), store::checked(filter));
    } catch (const pqxx::sql_error& error) {
        // "Read only" tells store that the primary is one no more. Here the definition is to blame, not the server.
        if (error.sqlstate() != "25006") throw;
        throw core::Failure::permanent("the definition's SELECT writes or locks rows")
            .with_native_code(error.sqlstate());
    }
}

}  // namespace ftlfeed::build
