#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace ftlfeed::core {

/// Source of jitter in [0, 1). Seeded, so that a run can be repeated. Threads: confined to one thread.
class Jitter {
public:
    explicit Jitter(std::uint64_t seed = std::random_device{}()) : engine_(seed) {}
    double operator()() { return std::uniform_real_distribution<double>(0.0, 1.0)(engine_); }

private:
    std::mt19937_64 engine_;
};

/// Full jitter: a length in [0, min(cap, first * 2^(attempt - 1))). `attempt` counts from 1. Pure.
/// Source: Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
[[nodiscard]] std::chrono::milliseconds full_jitter(int attempt, std::chrono::milliseconds first,
                                                    std::chrono::milliseconds cap, double jitter);

}  // namespace ftlfeed::core
