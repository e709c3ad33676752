#pragma once

#include <cstdint>
#include <random>

namespace ftl::test {

/// Random numbers that can be had again: the seed is printed when a test fails (make it with FTL_RNG), and FTL_SEED in
/// the environment sets it.
/// Threads: confined to one thread.
class Rng {
public:
    explicit Rng(std::uint64_t seed) : seed_(seed), engine_(seed) {}

    [[nodiscard]] std::uint64_t seed() const { return seed_; }
    [[nodiscard]] std::mt19937_64& engine() { return engine_; }

    /// A whole number from `low` to `high`, both included.
    [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
    }

    /// True in `share` of all calls (0 to 1).
    [[nodiscard]] bool chance(double share) {
        return std::uniform_real_distribution<double>(0.0, 1.0)(engine_) < share;
    }

private:
    std::uint64_t seed_;
    std::mt19937_64 engine_;
};

/// FTL_SEED if that is set, else a new seed each time.
[[nodiscard]] std::uint64_t pick_seed();

/// `full` when FTL_FULL is set (tests/run.sh --full), else `quick`: how much a fuzz or soak test does.
[[nodiscard]] int rounds(int quick, int full);

}  // namespace ftl::test

/// Declares an Rng named `name` and has doctest print its seed with every failure in the enclosing scope.
#define FTL_RNG(name)                                \
    ::ftl::test::Rng name(::ftl::test::pick_seed()); \
    INFO("FTL_SEED=", name.seed())
