#include <ftlfeed/build/sql_resolver.hpp>

#include <algorithm>
#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/store/value.hpp>

#include "build/definition_session.hpp"

namespace ftlfeed::build {

using core::Failure;

namespace {

/// `kind:id`; the id may hold colons of its own.
core::RecordRef parse_dependency(const std::string& text) {
    const auto colon = text.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
        throw Failure::permanent("the dependency '" + core::shorten(text, 100) + "' is not KIND:ID");
    }
    return {text.substr(0, colon), text.substr(colon + 1), ""};
}

}  // namespace

Resolved SqlResolver::resolve(pqxx::transaction_base& tx, const core::FeedKey& key,
                              const FeedDefinition& definition) const {
    if (definition.body_sql.empty()) throw Failure::permanent("the definition has no body_sql");
    const auto rows = run_select(tx, "q.body::text AS body, q.deps::text[] AS deps", definition.body_sql, "q",
                                 key.event(), key.filter());
    if (rows.size() != 1) {
        throw Failure::permanent("body_sql gave " + std::to_string(rows.size()) + " rows; one is wanted");
    }
    if (rows[0][0].is_null()) throw Failure::permanent("body_sql gave no body (NULL)");
    if (rows[0][1].is_null()) throw Failure::permanent("body_sql gave no deps (NULL); '{}' says that it read nothing");
    if (rows[0][0].size() > limits_.body_bytes_max) {
        throw Failure::permanent("the body has " + std::to_string(rows[0][0].size()) + " bytes; " +
                                 std::to_string(limits_.body_bytes_max) + " are allowed");
    }
    Resolved resolved{rows[0][0].as<std::string>(), definition.content_type, {}};
    for (const auto& text : store::from_text_array(rows[0][1].as<std::string>())) {
        resolved.dependencies.push_back(parse_dependency(text));
    }
    if (resolved.dependencies.size() > limits_.dependencies_max) {
        throw Failure::permanent("more than " + std::to_string(limits_.dependencies_max) + " dependencies");
    }
    return resolved;
}

std::vector<std::string> enumerate_filters(pqxx::transaction_base& tx, const std::string& event,
                                           const FeedDefinition& definition, const ResolverLimits& limits) {
    const auto rows = definition.keys_sql.empty()
                          ? tx.exec_params("SELECT '' FROM public.event WHERE code = $1", store::checked(event))
                          : run_select(tx, "q.filter::text", definition.keys_sql, "q (filter)", event, "");
    if (static_cast<std::size_t>(rows.size()) > limits.keys_max) {
        throw Failure::permanent("keys_sql lists more than " + std::to_string(limits.keys_max) + " files");
    }
    std::vector<std::string> filters;
    filters.reserve(rows.size());
    for (const auto& row : rows) {
        if (row[0].is_null()) throw Failure::permanent("keys_sql lists a NULL; '' is the file without a filter");
        auto filter = row[0].as<std::string>();
        if (!filter.empty() && !core::FeedKey::is_valid_part(filter)) {
            throw Failure::permanent("keys_sql lists '" + core::shorten(filter, 100) +
                                     "': a filter is made of a-z, 0-9, _ and -");
        }
        filters.push_back(std::move(filter));
    }
    std::sort(filters.begin(), filters.end());
    filters.erase(std::unique(filters.begin(), filters.end()), filters.end());
    return filters;
}

}  // namespace ftlfeed::build
