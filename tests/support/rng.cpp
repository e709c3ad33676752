#include "support/rng.hpp"

#include <cstdlib>
#include <string>

namespace ftl::test {

std::uint64_t pick_seed() {
    if (const char* text = std::getenv("FTL_SEED"); text != nullptr && *text != '\0') return std::stoull(text);
    std::random_device device;
    return (std::uint64_t{device()} << 32U) | device();
}

int rounds(int quick, int full) {
    const char* text = std::getenv("FTL_FULL");
    return text != nullptr && *text != '\0' ? full : quick;
}

}  // namespace ftl::test
