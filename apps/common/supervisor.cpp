#include "common/supervisor.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "common/main_guard.hpp"

namespace ftlfeed::app {

namespace {

constexpr std::chrono::milliseconds kPauseFirst{100};
constexpr std::chrono::milliseconds kPauseMax{2000};
constexpr int kAttemptsCounted = 10;

/// The loop of add_retrying() around the caller's own.
void run_retrying(Worker& worker, const Supervisor::Loop& loop) {
    core::Jitter jitter;
    while (!worker.is_stopping()) {
        try {
            loop(worker);
            return;
        } catch (const core::Failure& failure) {
            if (!failure.may_retry()) throw failure.within(worker.name());
            if (worker.is_stopping()) return;  // Nobody will try again: what was open stays open for the next start.
            worker.waiting(failure.what());
        }
        // Half of it at least: a dead server is not to be asked as fast as we can.
        worker.sleep_for(core::full_jitter(std::min(worker.failures(), kAttemptsCounted), kPauseFirst, kPauseMax,
                                           0.5 + jitter() / 2));
    }
}

}  // namespace

void Worker::ready() {
    runtime_.readiness().set_ready(name_);
    if (outage_.recovered()) core::log_info("app.worker_back", {{"worker", name_}});
}

void Worker::waiting(const std::string& reason) {
    runtime_.readiness().set_waiting(name_, reason);
    if (!outage_.failed(runtime_.clock().steady_now())) return;
    core::log_warning("app.worker_waiting", {{"worker", name_}, {"error", reason}});
}

class Supervisor::Impl {
public:
    explicit Impl(Runtime& runtime) : runtime_(runtime) {}

    ~Impl() { stop_.request_stop(); }

    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    void add(std::string name, Loop loop) {
        FTL_ASSERT(threads_.empty());
        jobs_.push_back({std::move(name), std::move(loop), false});
    }

    [[nodiscard]] Readiness& readiness() { return runtime_.readiness(); }

    void run() {
        FTL_ASSERT(threads_.empty());
        readiness().set_ready(kWorkersPart);
        // Asked from outside, or by the first worker that dies: one stop for all.
        const std::stop_callback passes_on(runtime_.stop_token(), [this] {
            stop_.request_stop();
            const std::lock_guard lock(mutex_);
            changed_.notify_all();
        });
        for (auto& job : jobs_) threads_.emplace_back([this, &job] { work(job); });
        wait_until_ended();
        threads_.clear();
        if (first_death_) std::rethrow_exception(first_death_);
    }

private:
    struct Job {
        std::string name;
        Loop loop;
        bool has_ended;
    };

    void work(Job& job) noexcept {
        std::exception_ptr death;
        try {
            Worker worker(job.name, runtime_, stop_.get_token());
            job.loop(worker);
        } catch (const std::exception& error) {
            death = std::current_exception();
            core::log_error("app.worker_died", {{"worker", job.name}, {"error", error.what()}});
        } catch (...) {
            death = std::current_exception();
            core::log_error("app.worker_died", {{"worker", job.name}});
        }
        if (death) stop_.request_stop();
        const std::lock_guard lock(mutex_);
        job.has_ended = true;
        if (death && !first_death_) first_death_ = death;
        changed_.notify_all();
    }

    void wait_until_ended() {
        const auto have_ended = [this] {
            return std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.has_ended; });
        };
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return have_ended() || stop_.stop_requested(); });
        if (changed_.wait_for(lock, runtime_.shutdown_limit(), have_ended)) return;
        for (const auto& job : jobs_) {
            if (!job.has_ended) core::log_error("app.drain_overrun", {{"worker", job.name}});
        }
        // A thread cannot be ended from outside, and waiting on would be waiting for ever.
        std::_Exit(kExitFailure);
    }

    Runtime& runtime_;
    std::stop_source stop_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Job> jobs_;
    std::exception_ptr first_death_;
    std::vector<std::jthread> threads_;  // Last: they use all the others.
};

Supervisor::Supervisor(Runtime& runtime) : impl_(std::make_unique<Impl>(runtime)) {}
Supervisor::~Supervisor() = default;

void Supervisor::add(std::string name, Loop loop) { impl_->add(std::move(name), std::move(loop)); }

void Supervisor::add_retrying(std::string name, Loop loop) {
    // Here and not in its thread: /readyz would say yes before the last thread has begun, and then no.
    impl_->readiness().set_waiting(name, "starting");
    impl_->add(std::move(name), [loop = std::move(loop)](Worker& worker) { run_retrying(worker, loop); });
}

void Supervisor::run() { impl_->run(); }

}  // namespace ftlfeed::app
