#include <ftlfeed/core/crash_point.hpp>

#ifdef FTL_CRASH_POINTS

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace ftlfeed::core {

namespace {

constexpr int kExitAsIfKilled = 137;

struct CrashPoint {
    long long at = 0;            ///< 0 = never.
    const char* name = nullptr;  ///< Counts the steps of this name alone; none = all.
};

/// `n` or `n:NAME`. Read from the environment itself, before any configuration, so that it is no setting.
CrashPoint crash_point() {
    const char* text = std::getenv("FTL_CRASH_AT");
    if (text == nullptr) return {};
    const char* colon = std::strchr(text, ':');
    return {std::atoll(text), colon == nullptr ? nullptr : colon + 1};
}

}  // namespace

void durable_step(const char* name) {
    static const CrashPoint kPoint = crash_point();
    static std::atomic<long long> steps{0};
    if (kPoint.at <= 0 || (kPoint.name != nullptr && std::strcmp(kPoint.name, name) != 0)) return;
    if (++steps == kPoint.at) _exit(kExitAsIfKilled);
}

}  // namespace ftlfeed::core

#endif
