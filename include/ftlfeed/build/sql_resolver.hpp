#pragma once

#include <string>
#include <vector>

#include <ftlfeed/build/resolver.hpp>

namespace ftlfeed::build {

/// Runs a definition's SELECT under the role ftl_feed_reader, which can read the schema feed_data alone. The SELECT is
/// sent by the extended protocol and as a subquery: it is one statement, and it writes nothing.
class SqlResolver final : public Resolver {
public:
    explicit SqlResolver(ResolverLimits limits) : limits_(limits) {}

    /// Throws core::Failure::permanent unless the SELECT gives exactly one row with a body and dependencies.
    [[nodiscard]] Resolved resolve(pqxx::transaction_base& tx, const core::FeedKey& key,
                                   const FeedDefinition& definition) const override;

private:
    ResolverLimits limits_;
};

/// The filters that exist for `event`, sorted, each once: the definition's enumerating SELECT, run as a body's is.
/// Throws core::Failure::permanent when one cannot be a part of a key.
[[nodiscard]] std::vector<std::string> enumerate_filters(pqxx::transaction_base& tx, const std::string& event,
                                                         const FeedDefinition& definition,
                                                         const ResolverLimits& limits);

}  // namespace ftlfeed::build
