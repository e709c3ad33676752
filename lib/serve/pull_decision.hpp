#pragma once

#include <optional>
#include <string_view>

namespace ftlfeed::serve {

/// What memory has of a file at the moment of a decision. A value.
struct Held {
    std::string_view version;        ///< Text form, whose order is that of versions; empty = no copy.
    bool is_postgres_fresh = false;  ///< What Postgres said of it (a version, or none) was said a moment ago.
    bool is_known_missing = false;   ///< It said that there is no such file.
};

enum class Step {
    kServe,             ///< The copy is what Redis has.
    kServeAndPushBack,  ///< The copy is newer: Redis lost something.
    kServeWithAge,      ///< Nobody could say whether the copy is the newest.
    kFetch,             ///< Redis has a newer one.
    kAskPostgres,
    kMissing,
};

/// Redis answered with the version that it holds, or that it has none. Pure.
[[nodiscard]] constexpr Step after_check(const Held& held, std::optional<std::string_view> in_redis) {
    if (in_redis) {
        if (held.version == *in_redis) return Step::kServe;
        return held.version < *in_redis ? Step::kFetch : Step::kServeAndPushBack;
    }
    // A flush, an eviction, or no such file: Redis cannot tell, and the copy may be older than what was flushed.
    if (!held.is_postgres_fresh) return Step::kAskPostgres;
    return held.is_known_missing ? Step::kMissing : Step::kServe;
}

/// Redis did not answer in time or is out of reach. Pure.
[[nodiscard]] constexpr Step without_redis(const Held& held) {
    if (!held.version.empty()) return Step::kServeWithAge;
    return held.is_postgres_fresh && held.is_known_missing ? Step::kMissing : Step::kAskPostgres;
}

}  // namespace ftlfeed::serve
