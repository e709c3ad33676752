#include <condition_variable>
#include <mutex>
#include <utility>

#include <ftlfeed/store/listener.hpp>

namespace ftlfeed::store {

struct WakeUp::State {
    std::mutex mutex;
    std::condition_variable_any changed;
    bool is_signalled = false;
};

WakeUp::WakeUp() : state_(std::make_unique<State>()) {}
WakeUp::~WakeUp() = default;

void WakeUp::signal() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->is_signalled = true;
    }
    state_->changed.notify_one();
}

bool WakeUp::wait_for(std::chrono::milliseconds limit, const std::stop_token& stop) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, stop, limit, [&] { return state_->is_signalled; });
    return std::exchange(state_->is_signalled, false);
}

}  // namespace ftlfeed::store
