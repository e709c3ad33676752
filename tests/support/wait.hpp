#pragma once

#include <chrono>
#include <functional>

namespace ftl::test {

constexpr std::chrono::milliseconds kWaitLimitDefault{10'000};

/// Waits until `condition` is true, looking every 2 ms; for things that another process or thread brings about.
/// Returns whether it became true within `limit`. Use: `REQUIRE(wait_until([&] { return file_exists(); }))`.
[[nodiscard]] bool wait_until(const std::function<bool()>& condition,
                              std::chrono::milliseconds limit = kWaitLimitDefault);

}  // namespace ftl::test
