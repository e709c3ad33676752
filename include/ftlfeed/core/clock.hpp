#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace ftlfeed::core {

using SteadyTime = std::chrono::steady_clock::time_point;
using SystemTime = std::chrono::system_clock::time_point;

/// Two clocks, injected: the steady one for limits and leases, the system one for stamps that people read. Stamps that
/// are compared with each other come from Postgres. Threads: all members are thread-safe.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual SteadyTime steady_now() const = 0;
    [[nodiscard]] virtual SystemTime system_now() const = 0;
    /// Blocks until `time`, or until stop is asked. Returns false when it ended by the stop.
    virtual bool sleep_until(SteadyTime time, const std::stop_token& stop) = 0;

    bool sleep_for(std::chrono::nanoseconds length, const std::stop_token& stop) {
        return sleep_until(steady_now() + std::chrono::duration_cast<SteadyTime::duration>(length), stop);
    }

    /// The machine's clocks. Never destroyed.
    static Clock& real();
};

/// For tests: stands still until it is moved; sleepers wake when it passes their time.
class ManualClock final : public Clock {
public:
    explicit ManualClock(SteadyTime steady = SteadyTime{} + std::chrono::hours(1),
                         SystemTime system = SystemTime{} + std::chrono::hours(24 * 365 * 50));
    [[nodiscard]] SteadyTime steady_now() const override;
    [[nodiscard]] SystemTime system_now() const override;
    bool sleep_until(SteadyTime time, const std::stop_token& stop) override;

    /// Moves both clocks forward.
    void advance(std::chrono::nanoseconds length);
    /// Steps the system clock alone, either way, as an administrator or NTP does.
    void step_system(std::chrono::nanoseconds length);

private:
    mutable std::mutex mutex_;
    std::condition_variable_any moved_;
    SteadyTime steady_;
    SystemTime system_;
};

}  // namespace ftlfeed::core
