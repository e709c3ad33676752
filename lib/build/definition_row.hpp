#pragma once

#include <pqxx/row>
#include <string>

#include <ftlfeed/build/definition.hpp>

namespace ftlfeed::build {

/// Columns of a row `f` of feed_definition, for a statement that reads more than a definition.
inline constexpr const char* kDefinitionColumns =
    "f.resolver, coalesce(f.body_sql, ''), coalesce(f.keys_sql, ''), f.content_type, f.volatile_pointers, f.is_on";

/// Reads them, the first at `first`.
[[nodiscard]] FeedDefinition definition_of(const pqxx::row& row, int first, const std::string& feed_type);

}  // namespace ftlfeed::build
