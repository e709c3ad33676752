#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ftlfeed/build/definition.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/record_ref.hpp>
#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::build {

/// What a resolver made of the database. A value.
struct Resolved {
    std::string body;
    std::string content_type = "application/json";
    /// What the query READ, not what it shows: a file whose rows can come and go depends on their collection
    /// (`event:CODE`). A record that is missing here changes without the file's being built again.
    std::vector<core::RecordRef> dependencies;
};

/// Makes the body of a file. Threads: several builders call one resolver at once.
class Resolver {
public:
    virtual ~Resolver() = default;

    /// `tx` is one snapshot (REPEATABLE READ, read only) with time zone and output settings pinned; equal data must give
    /// equal bytes. Throws core::Failure when it cannot: the build is tried again with back-off.
    [[nodiscard]] virtual Resolved resolve(pqxx::transaction_base& tx, const core::FeedKey& key,
                                           const FeedDefinition& definition) const = 0;
};

/// Resolvers by the name that `feed_definition.resolver` holds. Knows "sql" from the start.
/// Threads: immutable once builders have it.
class ResolverRegistry {
public:
    explicit ResolverRegistry(ResolverLimits limits = {});

    /// Throws core::InvalidInput when the name is taken.
    void add(const std::string& name, std::unique_ptr<Resolver> resolver);
    /// Throws core::Failure::permanent when there is none.
    [[nodiscard]] const Resolver& find(const std::string& name) const;
    [[nodiscard]] const ResolverLimits& limits() const { return limits_; }

private:
    ResolverLimits limits_;
    std::map<std::string, std::unique_ptr<Resolver>> resolvers_;
};

}  // namespace ftlfeed::build
