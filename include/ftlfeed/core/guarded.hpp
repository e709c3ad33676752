#pragma once

#include <mutex>
#include <utility>

namespace ftlfeed::core {

/// Shared state, reachable only inside its lock. No I/O and no callback into other rooms under it.
template <typename T>
class Guarded {
public:
    Guarded() = default;
    explicit Guarded(T value) : value_(std::move(value)) {}

    /// Runs `work` with the value, locked, and returns what it returns.
    template <typename Work>
    decltype(auto) with(Work&& work) {
        const std::lock_guard lock(mutex_);
        return std::forward<Work>(work)(value_);
    }
    template <typename Work>
    decltype(auto) with(Work&& work) const {
        const std::lock_guard lock(mutex_);
        return std::forward<Work>(work)(static_cast<const T&>(value_));
    }

private:
    mutable std::mutex mutex_;
    T value_{};
};

}  // namespace ftlfeed::core
