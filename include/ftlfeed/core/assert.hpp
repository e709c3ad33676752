#pragma once

#include <source_location>
#include <stdexcept>

namespace ftlfeed::core {

/// A broken invariant of our own code. Debug builds abort, release builds throw it: run right or stop safely.
class Bug : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

[[noreturn]] void assertion_failed(const char* expression,
                                   std::source_location where = std::source_location::current());

}  // namespace ftlfeed::core

/// Stays on in release builds.
#define FTL_ASSERT(expression) \
    (static_cast<bool>(expression) ? static_cast<void>(0) : ::ftlfeed::core::assertion_failed(#expression))
