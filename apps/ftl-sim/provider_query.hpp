#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "api_error.hpp"
#include "includes.hpp"
#include "zone.hpp"

namespace ftlfeed::sim {

using Parameters = std::map<std::string, std::string, std::less<>>;

/// A request's target, taken apart and percent-decoded.
struct Target {
    std::string path;
    Parameters parameters;
};

[[nodiscard]] Target parse_target(std::string_view target);

/// What the parameters of a request ask for.
struct Query {
    Includes includes;
    std::shared_ptr<const Zone> zone;
    std::size_t per_page = 25;
    std::size_t page = 1;
    bool descending = false;    ///< order=desc, by kick-off.
    std::int64_t id_after = 0;  ///< filters=idAfter:N
    std::optional<std::set<std::int64_t>> leagues;
    std::optional<std::set<std::int64_t>> seasons;
    std::string again;  ///< The query without token and page, to ask for the next page with.
};

/// What the plan sets for every request.
struct QueryRules {
    std::size_t per_page = 25;
    std::set<std::string, std::less<>> plan_lacks;
};

/// A parameter that the provider does not know is refused (5006): a misspelt one would go unseen.
[[nodiscard]] std::variant<Query, ApiError> read_query(const Parameters& parameters, const QueryRules& rules);

}  // namespace ftlfeed::sim
