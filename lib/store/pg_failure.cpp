#include "store/pg_failure.hpp"

#include <algorithm>
#include <array>
#include <pqxx/except>
#include <string_view>

#include "store/connection.hpp"

namespace ftlfeed::store {

using core::Failure;

namespace {

enum class Meaning { kUnavailable, kLost, kBusy, kPermanent };

struct Rule {
    std::string_view prefix;  ///< Of the SQLSTATE; the longest that fits decides.
    Meaning meaning;
};

// Sorted by nothing but sense. What is not here may be retried: an unknown error is no proof that trying again is useless.
constexpr std::array kRules{
    Rule{"08", Meaning::kLost},          // connection exception
    Rule{"0A", Meaning::kPermanent},     // feature not supported
    Rule{"0L", Meaning::kPermanent},     // invalid grantor
    Rule{"0P", Meaning::kPermanent},     // invalid role
    Rule{"20", Meaning::kPermanent},     // case not found
    Rule{"21", Meaning::kPermanent},     // cardinality violation
    Rule{"22", Meaning::kPermanent},     // data exception
    Rule{"23", Meaning::kPermanent},     // integrity constraint violation
    Rule{"24", Meaning::kPermanent},     // invalid cursor state
    Rule{"25", Meaning::kPermanent},     // invalid transaction state
    Rule{"25006", Meaning::kLost},       // read only: this server is the primary no more; look for the new one
    Rule{"25P03", Meaning::kLost},       // idle in transaction for too long
    Rule{"26", Meaning::kPermanent},     // invalid statement name
    Rule{"28", Meaning::kPermanent},     // invalid authorization
    Rule{"2B", Meaning::kPermanent},     // dependent privileges
    Rule{"34", Meaning::kPermanent},     // invalid cursor name
    Rule{"3B", Meaning::kPermanent},     // savepoint
    Rule{"3D", Meaning::kPermanent},     // no such database
    Rule{"3F", Meaning::kPermanent},     // no such schema
    Rule{"40", Meaning::kBusy},          // transaction rollback: serialization, deadlock
    Rule{"42", Meaning::kPermanent},     // syntax, or access rule
    Rule{"44", Meaning::kPermanent},     // WITH CHECK OPTION
    Rule{"53", Meaning::kUnavailable},   // out of resources: disk, memory, connections
    Rule{"53300", Meaning::kLost},       // too many connections: there never was one
    Rule{"54", Meaning::kPermanent},     // program limit exceeded
    Rule{"55", Meaning::kPermanent},     // object not in prerequisite state
    Rule{"55006", Meaning::kBusy},       // object in use
    Rule{"55P03", Meaning::kBusy},       // lock not available
    Rule{"57014", Meaning::kBusy},       // cancelled, by statement_timeout or a person
    Rule{"57P01", Meaning::kLost},       // the administrator ended this backend
    Rule{"57P02", Meaning::kLost},       // another backend crashed
    Rule{"57P03", Meaning::kLost},       // the server is starting or stopping
    Rule{"57P04", Meaning::kPermanent},  // the database was dropped
    Rule{"57P05", Meaning::kLost},       // idle for too long
    Rule{"58", Meaning::kUnavailable},   // the server's own I/O failed
    Rule{"F0", Meaning::kPermanent},     // its configuration file
    Rule{"P0", Meaning::kPermanent},     // raised by PL/pgSQL
};

Meaning meaning_of(std::string_view sqlstate) {
    const Rule* best = nullptr;
    for (const auto& rule : kRules) {
        if (sqlstate.starts_with(rule.prefix) && (best == nullptr || rule.prefix.size() > best->prefix.size()))
            best = &rule;
    }
    return best == nullptr ? Meaning::kUnavailable : best->meaning;
}

/// The SQLSTATE of an exception; libpqxx 6 keeps none for those that it has a type for.
std::string sqlstate_of(const std::exception& error) {
    if (dynamic_cast<const pqxx::serialization_failure*>(&error) != nullptr) return "40001";
    if (dynamic_cast<const pqxx::deadlock_detected*>(&error) != nullptr) return "40P01";
    if (dynamic_cast<const pqxx::statement_completion_unknown*>(&error) != nullptr) return "40003";
    if (dynamic_cast<const pqxx::transaction_rollback*>(&error) != nullptr) return "40000";
    if (dynamic_cast<const pqxx::too_many_connections*>(&error) != nullptr) return "53300";
    if (const auto* sql = dynamic_cast<const pqxx::sql_error*>(&error)) return sql->sqlstate();
    return "";
}

Failure as_meant(Meaning meaning, const std::string& message) {
    switch (meaning) {
        case Meaning::kLost:
            return Failure::unavailable(message).with_connection_lost();
        case Meaning::kBusy:
            return Failure::busy(message);
        case Meaning::kPermanent:
            return Failure::permanent(message);
        case Meaning::kUnavailable:
            break;
    }
    return Failure::unavailable(message);
}

}  // namespace

Failure sqlstate_failure(const std::string& sqlstate, const std::string& message) {
    // 40003: whether the statement took effect is not known.
    if (sqlstate == "40003") return Failure::in_doubt(message).with_native_code(sqlstate);
    return as_meant(meaning_of(sqlstate), message).with_native_code(sqlstate);
}

Failure pg_failure(const std::exception& error, bool is_open, const std::string& password) {
    const auto message = "Postgres: " + without_secrets(error.what(), password);
    if (dynamic_cast<const pqxx::in_doubt_error*>(&error) != nullptr) {
        return Failure::in_doubt(message).with_connection_lost();
    }
    const auto sqlstate = sqlstate_of(error);
    if (!sqlstate.empty()) {
        const auto failure = sqlstate_failure(sqlstate, message);
        return is_open ? failure : failure.with_connection_lost();
    }
    if (dynamic_cast<const pqxx::broken_connection*>(&error) != nullptr || !is_open) {
        return Failure::unavailable(message).with_connection_lost();
    }
    // Wrong use, a value that does not convert, another number of rows than the statement promises: our own mistake, or
    // a schema that is not ours.
    return Failure::permanent(message);
}

}  // namespace ftlfeed::store
