#include "deliver/sender_threads.hpp"

#include <utility>

namespace ftlfeed::deliver {
namespace {

// Deep enough for libpq, OpenSSL and getaddrinfo; 2,048 of them are 1 GiB of address space, of which little is touched.
constexpr std::size_t kStackBytes = 512 * 1024;

}  // namespace

SenderThreads::SenderThreads(std::size_t threads_max, std::chrono::milliseconds idle_limit)
    : threads_max_(threads_max), idle_limit_(idle_limit) {}

SenderThreads::~SenderThreads() {
    std::unique_lock lock(mutex_);
    is_closing_ = true;
    work_came_.notify_all();
    thread_ended_.wait(lock, [this] { return threads_ == 0; });
    join_ended(lock);
}

bool SenderThreads::run(std::function<void()> work) {
    std::unique_lock lock(mutex_);
    join_ended(lock);
    if (is_closing_) return false;
    if (idle_ > waiting_.size()) {
        waiting_.push_back(std::move(work));
        work_came_.notify_one();
        return true;
    }
    if (threads_ >= threads_max_) return false;
    waiting_.push_back(std::move(work));
    if (start_thread()) return true;
    waiting_.pop_back();
    return false;
}

std::size_t SenderThreads::busy() const {
    const std::lock_guard lock(mutex_);
    return threads_ - idle_ + waiting_.size();
}

bool SenderThreads::start_thread() {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setstacksize(&attributes, kStackBytes);
    pthread_t thread{};
    const bool is_started = pthread_create(&thread, &attributes, &SenderThreads::thread_main, this) == 0;
    pthread_attr_destroy(&attributes);
    if (is_started) {
        ++threads_;
        ++idle_;  // Until it takes the work that was queued for it.
    }
    return is_started;
}

void* SenderThreads::thread_main(void* pool) {
    static_cast<SenderThreads*>(pool)->serve();
    return nullptr;
}

void SenderThreads::serve() {
    std::unique_lock lock(mutex_);
    while (true) {
        const bool has_work =
            work_came_.wait_for(lock, idle_limit_, [this] { return !waiting_.empty() || is_closing_; });
        if (!waiting_.empty()) {
            const auto work = std::move(waiting_.front());
            waiting_.pop_front();
            --idle_;
            lock.unlock();
            work();
            lock.lock();
            ++idle_;
            continue;
        }
        if (!has_work || is_closing_) break;
    }
    --idle_;
    --threads_;
    ended_.push_back(pthread_self());
    thread_ended_.notify_all();
}

void SenderThreads::join_ended(std::unique_lock<std::mutex>& lock) {
    auto ended = std::exchange(ended_, {});
    if (ended.empty()) return;
    lock.unlock();
    for (const auto thread : ended) pthread_join(thread, nullptr);
    lock.lock();
}

}  // namespace ftlfeed::deliver
