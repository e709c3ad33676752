#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace ftlfeed::serve {

/// One thread for what takes too long on a loop and needs no Postgres: unpacking bodies, writing to Redis.
/// Threads: thread-safe.
class Backroom {
public:
    /// At most `jobs_max` jobs wait.
    explicit Backroom(std::size_t jobs_max);
    /// Drops the jobs that wait.
    ~Backroom();
    Backroom(const Backroom&) = delete;
    Backroom& operator=(const Backroom&) = delete;

    /// Returns false, and drops the job, when too many wait. What a job throws is written to the log.
    bool run(std::function<void()> job);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ftlfeed::serve
