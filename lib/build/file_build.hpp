#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/build/resolver.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/store/session.hpp>

#include "build/claim.hpp"

namespace ftlfeed::build {

/// What the build's snapshot says of one file.
struct FileState {
    std::string snapshot;  ///< The build's own, as text.
    std::optional<FeedDefinition> definition;
    bool is_listed = false;
    bool is_built = false;  ///< There is a document, retired or not.
    bool is_retired = false;
    std::string content_hash;  ///< Raw bytes.
    std::string content_type;
    std::vector<std::string> dependencies;  ///< `kind:id`, sorted.

    /// It is to exist: listed, and its type is on.
    [[nodiscard]] bool is_wanted() const { return is_listed && definition && definition->is_on; }
};

/// Reads it. Meant for the first statement of a REPEATABLE READ transaction: that is when the snapshot is taken.
[[nodiscard]] FileState load_file_state(pqxx::transaction_base& tx, const core::FeedKey& key);

/// The bytes of a file and what decides on them.
struct FileContent {
    Resolved resolved;
    std::vector<std::uint8_t> hash;
    std::vector<std::string> dependencies;  ///< `kind:id`, sorted, each once, the definition's own among them.
};
/// Runs the resolver in `tx`; afterwards the transaction may be in another role.
[[nodiscard]] FileContent resolve_file(pqxx::transaction_base& tx, const core::FeedKey& key,
                                       const FeedDefinition& definition, const ResolverRegistry& resolvers);

/// Builds one claimed file up to its commit. The session holds the file's lock.
/// Returns kChanged, kUnchanged or kRetired, and the build's snapshot in `snapshot`.
[[nodiscard]] BuildOutcome build_file(store::Session& session, const Claim& claim, const core::FeedKey& key,
                                      const ResolverRegistry& resolvers, const BuildObserver& observer,
                                      std::string& snapshot);

/// For those who only look: as text, from either side of the wire.
[[nodiscard]] std::string raw_bytes(const std::vector<std::uint8_t>& bytes);

}  // namespace ftlfeed::build
