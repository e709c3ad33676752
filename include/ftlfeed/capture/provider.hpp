#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/capture/snapshot.hpp>

namespace ftlfeed::capture {

/// A whole answer: every page of it, or none.
struct ProviderAnswer {
    std::vector<FixtureSnapshot> fixtures;
    std::vector<RejectedFixture> rejected;
    /// The provider's own clock when it answered. Never compared with a clock of ours.
    std::optional<std::chrono::sys_seconds> provider_time;
};

/// A source of fixtures. A failed, partial or half-paged answer throws core::Failure and is no answer at all.
/// Threads: confined to one thread at a time.
class Provider {
public:
    virtual ~Provider() = default;

    /// Its name in our tables, `[a-z0-9_-]+`.
    [[nodiscard]] virtual const std::string& name() const = 0;
    /// Every fixture that is in play, with all its events.
    [[nodiscard]] virtual ProviderAnswer in_play() = 0;
    /// The fixtures of these seasons that start between two days, both included.
    [[nodiscard]] virtual ProviderAnswer fixtures_between(std::chrono::sys_days first, std::chrono::sys_days last,
                                                          const std::vector<std::int64_t>& season_ids) = 0;
    /// One fixture of any age. No fixture and no rejected one in the answer: the provider does not know it (B35, B37).
    [[nodiscard]] virtual ProviderAnswer fixture(std::int64_t id) = 0;
};

}  // namespace ftlfeed::capture
