#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace ftlfeed::deliver {

/// An elastic pool of threads with small stacks: blocking transports in plain code, one thread for each destination
/// that has work, none for an idle one. (std::jthread has no stack size; these are joined all the same.)
/// Threads: thread-safe.
class SenderThreads {
public:
    /// At most `threads_max` at once; one that had nothing to do for `idle_limit` ends.
    SenderThreads(std::size_t threads_max, std::chrono::milliseconds idle_limit);
    /// Waits for all work to end.
    ~SenderThreads();
    SenderThreads(const SenderThreads&) = delete;
    SenderThreads& operator=(const SenderThreads&) = delete;

    /// Starts `work` at once on a thread of its own. False when all threads are busy, or none can be made. `work` must
    /// not throw.
    [[nodiscard]] bool run(std::function<void()> work);
    [[nodiscard]] std::size_t busy() const;
    [[nodiscard]] std::size_t threads_max() const { return threads_max_; }

private:
    static void* thread_main(void* pool);
    void serve();
    bool start_thread();
    void join_ended(std::unique_lock<std::mutex>& lock);

    const std::size_t threads_max_;
    const std::chrono::milliseconds idle_limit_;
    mutable std::mutex mutex_;
    std::condition_variable work_came_;
    std::condition_variable thread_ended_;
    std::deque<std::function<void()>> waiting_;
    std::vector<pthread_t> ended_;
    std::size_t threads_ = 0;
    std::size_t idle_ = 0;
    bool is_closing_ = false;
};

}  // namespace ftlfeed::deliver
