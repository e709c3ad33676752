#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "history.hpp"
#include "readers.hpp"
#include "support/cluster.hpp"

namespace ftl::test::outbox {

/// Writers of every kind (quick, slow, rolled back, with savepoints, prepared, some without a synchronous commit), a
/// writing transaction in another database over and over, two reader processes for each method that are killed at
/// random moments, and immediate stops of Postgres.
struct StressSettings {
    std::chrono::milliseconds length{8000};
    int writers = 6;
    int immediate_stops = 1;
    int kills_min = 10;
    std::chrono::milliseconds slow_max{
        300};  ///< How long a slow transaction is open at most; long ones four times that.
    std::vector<Method> methods{Method::kSnapshot, Method::kIdGreater};
    std::uint64_t seed = 0;
};
struct StressResult {
    std::map<Method, Verdict> verdicts;
    int kills = 0;
    int stops = 0;
};
[[nodiscard]] StressResult run_stress(Cluster& cluster, const std::string& uri, const StressSettings& settings);

}  // namespace ftl::test::outbox
