#pragma once

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/store/fwd.hpp>

#include "deliver/body_cache.hpp"

namespace ftlfeed::deliver {

struct Sending;

/// The bytes of a version, unpacked and checked against the hash they were stored with. Throws Failure::permanent when
/// they are damaged or no longer kept.
[[nodiscard]] BodyPtr load_body(pqxx::transaction_base& tx, BodyCache& bodies, const core::FeedKey& key,
                                const core::Version& version);
/// Body and changed_at of a version that was sent or is being sent; leaves `body` empty when the version is a retirement
/// or no longer kept.
void fill_body(pqxx::transaction_base& tx, BodyCache& bodies, Sending& sending);

}  // namespace ftlfeed::deliver
