#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/redis.hpp"

namespace ftl::test {

/// A real Redis that cannot do what it is asked, and what a person has to be told of it.
struct TroubledRedis {
    std::unique_ptr<RedisServer> server;
    std::string code;    ///< The first word of its error.
    std::string remedy;  ///< What helps.

    /// The trouble is over.
    void mend() const;
};

/// One each that is full, a replica, reads its file at the start, and wants a password that nobody gives. For their default
/// user without a password. Takes a second.
[[nodiscard]] std::vector<TroubledRedis> troubled_redises();

}  // namespace ftl::test
