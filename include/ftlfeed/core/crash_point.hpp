#pragma once

namespace ftlfeed::core {

/// A durable step: right after something was committed, renamed or sent. With FTL_CRASH_AT=n (or n:NAME, which counts the
/// steps of that name alone) in the environment the n-th one ends the process as SIGKILL would (exit code 137, nothing flushed). Test builds only; nothing in release
/// builds.
#ifdef FTL_CRASH_POINTS
void durable_step(const char* name);
#else
inline void durable_step(const char* /*name*/) {}
#endif

}  // namespace ftlfeed::core
