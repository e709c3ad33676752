#include <ftlfeed/build/resolver.hpp>

#include <utility>

#include <ftlfeed/build/sql_resolver.hpp>
#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::build {

ResolverRegistry::ResolverRegistry(ResolverLimits limits) : limits_(limits) {
    add("sql", std::make_unique<SqlResolver>(limits));
}

void ResolverRegistry::add(const std::string& name, std::unique_ptr<Resolver> resolver) {
    if (!resolvers_.emplace(name, std::move(resolver)).second) {
        throw core::InvalidInput("a resolver named '" + name + "' is registered already");
    }
}

const Resolver& ResolverRegistry::find(const std::string& name) const {
    const auto found = resolvers_.find(name);
    if (found == resolvers_.end()) throw core::Failure::permanent("no resolver is named '" + name + "'");
    return *found->second;
}

}  // namespace ftlfeed::build
