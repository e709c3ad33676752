#include <ftlfeed/core/backoff.hpp>

#include <algorithm>

#include <ftlfeed/core/assert.hpp>

namespace ftlfeed::core {

std::chrono::milliseconds full_jitter(int attempt, std::chrono::milliseconds first, std::chrono::milliseconds cap,
                                      double jitter) {
    FTL_ASSERT(attempt >= 1 && first.count() >= 0 && cap.count() >= 0 && jitter >= 0 && jitter < 1);
    auto ceiling = std::min(first, cap);
    // Doubling stops at the cap, so that no number of attempts overflows.
    for (int i = 1; i < attempt && ceiling < cap && ceiling.count() > 0; ++i)
        ceiling += std::min(ceiling, cap - ceiling);
    return std::chrono::milliseconds(static_cast<std::int64_t>(static_cast<double>(ceiling.count()) * jitter));
}

}  // namespace ftlfeed::core
