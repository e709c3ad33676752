#pragma once

#include <string_view>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::cache {

/// What an error that Redis answered means. Pure; the one reader of Redis's error words, and its test is a table.
/// native_code() is the error's first word (`OOM`), connection_lost() says that another connection may do better. It was
/// answered, so it is never in doubt. What nobody here knows may be retried. The text is Redis's own and what a person can
/// do; which Redis it was is added by the connection.
/// Source: Redis 7.0, src/server.c (createSharedObjects), and the documentation of each command.
[[nodiscard]] core::Failure cache_failure(std::string_view error);

}  // namespace ftlfeed::cache
