#include "serve/backroom.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <ftlfeed/core/log.hpp>

namespace ftlfeed::serve {

class Backroom::Impl {
public:
    explicit Impl(std::size_t jobs_max) : jobs_max_(jobs_max) {
        thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    }

    bool run(std::function<void()> job) {
        {
            const std::lock_guard lock(mutex_);
            if (jobs_.size() >= jobs_max_) return false;
            jobs_.push_back(std::move(job));
        }
        changed_.notify_one();
        return true;
    }

private:
    void work(const std::stop_token& stop) {
        for (;;) {
            std::unique_lock lock(mutex_);
            if (!changed_.wait(lock, stop, [this] { return !jobs_.empty(); })) return;
            const auto job = std::move(jobs_.front());
            jobs_.pop_front();
            lock.unlock();
            try {
                job();
            } catch (const std::exception& error) {
                core::log_warning("serve.backroom", {{"error", error.what()}});
            }
        }
    }

    std::size_t jobs_max_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<std::function<void()>> jobs_;
    std::jthread thread_;  // Last: it uses all the others.
};

Backroom::Backroom(std::size_t jobs_max) : impl_(std::make_unique<Impl>(jobs_max)) {}
Backroom::~Backroom() = default;

bool Backroom::run(std::function<void()> job) { return impl_->run(std::move(job)); }

}  // namespace ftlfeed::serve
