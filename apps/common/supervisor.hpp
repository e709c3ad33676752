#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "common/outage.hpp"
#include "common/runtime.hpp"

namespace ftlfeed::app {

/// What a worker's loop sees of its surroundings. Threads: confined to the worker's thread.
class Worker {
public:
    Worker(std::string name, Runtime& runtime, std::stop_token stop)
        : name_(std::move(name)), runtime_(runtime), stop_(std::move(stop)) {}

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::stop_token& stop() const { return stop_; }
    [[nodiscard]] bool is_stopping() const { return stop_.stop_requested(); }
    [[nodiscard]] Runtime& runtime() const { return runtime_; }
    /// What the worker depends on has answered. Call it after each successful round: it costs a lock.
    void ready();
    /// What it depends on does not answer: /readyz says why, and the log at once and then every 30 s. Loops under
    /// add_retrying() only throw.
    void waiting(const std::string& reason);
    /// Calls of waiting() since the last ready().
    [[nodiscard]] int failures() const { return outage_.failures(); }
    /// Returns false when it ended by the stop.
    bool sleep_for(std::chrono::milliseconds length) { return runtime_.clock().sleep_for(length, stop_); }

private:
    std::string name_;
    Runtime& runtime_;
    std::stop_token stop_;
    Outage outage_;
};

/// The threads of a service. Declare it after all that its loops use: its destructor stops and joins them.
/// Threads: confined; run() blocks.
class Supervisor {
public:
    using Loop = std::function<void(Worker& worker)>;

    explicit Supervisor(Runtime& runtime);
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    /// A loop that runs until the stop. What it throws ends the service; so does, once all have done it, returning.
    void add(std::string name, Loop loop);
    /// A loop that begins anew, at growing distance, after a Failure that may be retried; it opens its connections itself,
    /// inside. Meanwhile /readyz names it with the reason, and the log at once and then every 30 s. What cannot be retried
    /// ends the service.
    void add_retrying(std::string name, Loop loop);

    /// Starts all, waits for the stop, and drains. Returns when all have ended; throws what the first one died of.
    /// A worker that has not ended within the shutdown limit ends the process with exit code 1.
    void run();

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::app
