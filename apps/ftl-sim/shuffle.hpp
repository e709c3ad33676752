#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ftlfeed::sim {

/// splitmix64: the same on every machine, unlike the distributions of <random>.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

/// The numbers 0 to count-1 in an order that `seed` alone decides.
[[nodiscard]] inline std::vector<std::size_t> mixed_order(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [seed](std::size_t a, std::size_t b) { return mix(mix(seed) ^ a) < mix(mix(seed) ^ b); });
    return order;
}

/// A sequence of random numbers that a seed decides. Threads: confined to one.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

    std::uint64_t next() { return state_ = mix(state_); }
    /// 0 to limit-1; limit is at least 1. The bias of the remainder does not matter here.
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
    int between(int least, int most) {
        return least + static_cast<int>(below(static_cast<std::size_t>(most - least + 1)));
    }
    bool chance(int percent) { return between(1, 100) <= percent; }

private:
    std::uint64_t state_;
};

}  // namespace ftlfeed::sim
