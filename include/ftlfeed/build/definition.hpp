#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::build {

/// How the files of one type are made: a row of `feed_definition`. A value.
struct FeedDefinition {
    std::string feed_type;
    std::string resolver = "sql";  ///< Name in the ResolverRegistry.
    /// One SELECT giving `body` (json or text) and `deps` (text[] of `kind:id`); $1 = event code, $2 = filter.
    std::string body_sql;
    /// One SELECT giving the filters that exist for event $1. Empty: every event has one file of this type.
    std::string keys_sql;
    std::string content_type = "application/json";
    std::vector<std::string> volatile_pointers;  ///< JSON Pointers (RFC 6901) that the content hash leaves out.
    bool is_on = true;                           ///< Off: its files are retired.

    bool operator==(const FeedDefinition&) const = default;
};

/// None when there is no such row.
[[nodiscard]] std::optional<FeedDefinition> load_definition(pqxx::transaction_base& tx, const std::string& feed_type);

/// What a definition may use up in one build.
struct ResolverLimits {
    std::chrono::milliseconds statement_timeout{10'000};  ///< The server ends a definition's SELECT after it.
    std::size_t body_bytes_max = std::size_t{64} << 20U;
    std::size_t dependencies_max = 100'000;
    std::size_t keys_max = 100'000;  ///< Files of one type of one event.
};

}  // namespace ftlfeed::build
