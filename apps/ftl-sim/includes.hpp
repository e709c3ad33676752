#pragma once

#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "api_error.hpp"

namespace ftlfeed::sim {

/// What a request asked to be included, as lower-case paths: "events", "events.type". A path brings its parents along.
class Includes {
public:
    [[nodiscard]] bool has(std::string_view path) const { return paths_.find(path) != paths_.end(); }
    void add(const std::string& path) { paths_.insert(path); }

private:
    std::set<std::string, std::less<>> paths_;
};

/// Reads `include=a;b.c`. Names may be camel case (events.relatedPlayer), as the provider's documents write them.
/// `plan_lacks`: paths that the plan does not cover.
[[nodiscard]] std::variant<Includes, ApiError> parse_includes(std::string_view text,
                                                              const std::set<std::string, std::less<>>& plan_lacks);

}  // namespace ftlfeed::sim
