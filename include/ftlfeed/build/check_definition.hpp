#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ftlfeed/build/resolver.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::build {

/// What a definition would make of an event, for the person who is about to save it.
struct DefinitionReport {
    std::vector<std::string> filters;  ///< The files that it lists, sorted.
    std::string filter;                ///< The one that was built: the first.
    Resolved sample;                   ///< Empty when no file is listed.
};

/// Builds the first file that the definition lists, twice, in two snapshots and with different plans, and stores nothing.
/// Throws core::InvalidInput saying what is wrong: a SELECT that does not run, a body that is no JSON, two bodies that
/// differ although the data is the same (an array without ORDER BY, now(), random()).
[[nodiscard]] DefinitionReport check_definition(store::Session& session, const ResolverRegistry& resolvers,
                                                const FeedDefinition& definition, const std::string& event);

}  // namespace ftlfeed::build
