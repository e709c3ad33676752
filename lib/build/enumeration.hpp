#pragma once

#include <string>

#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/build/resolver.hpp>
#include <ftlfeed/store/session.hpp>

#include "build/claim.hpp"

namespace ftlfeed::build {

/// Lists the files of one type of one event anew: new keys are born and marked, keys that are no longer listed are
/// marked and will be retired by their next build. The session holds the mark's lock.
[[nodiscard]] BuildOutcome enumerate_files(store::Session& session, const Claim& claim, const MarkedKey& key,
                                           const ResolverRegistry& resolvers, const BuildObserver& observer,
                                           std::string& snapshot);

}  // namespace ftlfeed::build
