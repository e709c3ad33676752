#include <ftlfeed/core/crash_point.hpp>

#ifdef FTL_CRASH_POINTS

#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace ftlfeed::core {

namespace {

constexpr int kExitAsIfKilled = 137;

/// 0 = never. Read from the environment itself, before any configuration, so that it is no setting.
long long crash_at() {
    const char* text = std::getenv("FTL_CRASH_AT");
    return text == nullptr ? 0 : std::atoll(text);
}

}  // namespace

void durable_step(const char* /*name*/) {
    static const long long at = crash_at();
    static std::atomic<long long> steps{0};
    if (at > 0 && ++steps == at) _exit(kExitAsIfKilled);
}

}  // namespace ftlfeed::core

#endif
