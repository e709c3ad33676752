#include <ftlfeed/core/clock.hpp>

namespace ftlfeed::core {

namespace {

class RealClock final : public Clock {
public:
    [[nodiscard]] SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
    [[nodiscard]] SystemTime system_now() const override { return std::chrono::system_clock::now(); }

    bool sleep_until(SteadyTime time, const std::stop_token& stop) override {
        std::mutex mutex;
        std::condition_variable_any nobody;  // Only time and the stop end the wait.
        std::unique_lock lock(mutex);
        nobody.wait_until(lock, stop, time, [] { return false; });
        return !stop.stop_requested();
    }
};

}  // namespace

Clock& Clock::real() {
    static auto* clock = new RealClock;
    return *clock;
}

ManualClock::ManualClock(SteadyTime steady, SystemTime system) : steady_(steady), system_(system) {}

SteadyTime ManualClock::steady_now() const {
    const std::lock_guard lock(mutex_);
    return steady_;
}

SystemTime ManualClock::system_now() const {
    const std::lock_guard lock(mutex_);
    return system_;
}

bool ManualClock::sleep_until(SteadyTime time, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return moved_.wait(lock, stop, [&] { return steady_ >= time; }) && !stop.stop_requested();
}

void ManualClock::advance(std::chrono::nanoseconds length) {
    {
        const std::lock_guard lock(mutex_);
        steady_ += std::chrono::duration_cast<SteadyTime::duration>(length);
        system_ += std::chrono::duration_cast<SystemTime::duration>(length);
    }
    moved_.notify_all();
}

void ManualClock::step_system(std::chrono::nanoseconds length) {
    const std::lock_guard lock(mutex_);
    system_ += std::chrono::duration_cast<SystemTime::duration>(length);
}

}  // namespace ftlfeed::core
