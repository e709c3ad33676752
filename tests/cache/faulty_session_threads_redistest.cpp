// The riskiest promise of a shared pipeline, tried at every byte: whatever the network does, no answer reaches the wrong
// caller, and nobody waits past his limit.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdio>

#include "cache/faulty_session.hpp"
#include "support/rng.hpp"

using namespace ftl::test;

namespace {

void run_sessions(std::uint64_t first, int sessions) {
    FaultySessions faulty;
    for (int i = 0; i < sessions; ++i) {
        const auto seed = first + static_cast<std::uint64_t>(i);
        const auto wrong = faulty.run(seed);
        INFO("FTL_SEED=", seed);
        REQUIRE(wrong == "");
    }
    const auto& counts = faulty.counts();
    fmt::print("{} sessions: {} answered, {} failed, {} came back\n", counts.sessions, counts.answered, counts.failed,
               counts.reconnected);
    // It would prove nothing if all passed, or if nothing did.
    CHECK(counts.answered > counts.sessions);
    CHECK(counts.failed > counts.sessions);
    CHECK(counts.reconnected > counts.sessions / 5);
    for (const auto& [kind, count] : counts.end_kinds) CHECK_MESSAGE(count > 0, kind);
}

}  // namespace

TEST_CASE(
    "cache.connection: cut or stalled or sliced at any byte no answer reaches the wrong caller or comes too late") {
    run_sessions(pick_seed() % 1'000'000, 300);
}

TEST_SUITE("soak threads") {
    TEST_CASE("cache.connection: ten thousand sessions cut at every byte and no answer reaches the wrong caller") {
        run_sessions(0, 10'000);
    }
}
