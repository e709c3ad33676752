#include "support/wait.hpp"

#include <thread>

namespace ftl::test {

bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds kLookEvery{2};
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(kLookEvery);
    }
    return true;
}

}  // namespace ftl::test
