#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/store/listener.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::build {

struct WorkerSettings {
    store::ConnectionSettings connection;
    BuildSettings build;
    std::chrono::milliseconds poll_interval{250};  ///< Longest wait for news that nobody announced.
    std::chrono::milliseconds busy_interval{20};   ///< Wait when all due files are being built by others.
    std::chrono::milliseconds retry_first{100};    ///< Back-off after a lost connection, with full jitter.
    std::chrono::milliseconds retry_max{5000};
    std::chrono::milliseconds audit_interval{std::chrono::hours(1)};  ///< Every file is proven this often.
    std::chrono::milliseconds audit_pause{1000};                      ///< Between two files of the audit.
};

/// Called at each failure that is tried again: for a log line and a readiness page.
using FailureObserver = std::function<void(const core::Failure& failure)>;

/// Reads the outbox and marks files dirty; wakes the builders that wait on `dirty`. One per process is enough; several
/// compete for one cursor.
/// Threads: run() is confined to one thread; it starts one more for its listener.
class MarkLoop {
public:
    MarkLoop(WorkerSettings settings, store::WakeUp& dirty, core::Clock& clock = core::Clock::real());
    void on_failure(FailureObserver observer) { failed_ = std::move(observer); }

    /// Returns when stop is asked. Postgres away is waited for. Throws what trying again cannot help: a cursor of
    /// another cluster, or none.
    void run(const std::stop_token& stop);

private:
    WorkerSettings settings_;
    store::WakeUp& dirty_;
    core::Clock& clock_;
    FailureObserver failed_;
};

/// Builds what is due, until it is stopped; drains nothing: a dirty file is built by whoever comes next.
/// Threads: run() is confined to one thread; several loops may share `dirty`.
class BuildLoop {
public:
    BuildLoop(WorkerSettings settings, std::shared_ptr<const ResolverRegistry> resolvers, store::WakeUp& dirty,
              core::Clock& clock = core::Clock::real());
    void on_failure(FailureObserver observer) { failed_ = std::move(observer); }
    /// Called when what a build wrote is committed, mostly a new version, while it still ends its mark. Others hear of it by
    /// NOTIFY; who is in this process need not wait for that.
    void on_version(std::function<void()> observer) { committed_ = std::move(observer); }
    /// Called after each build that was not kNothingDue.
    void on_built(std::function<void(const BuildOutcome& outcome)> observer) { built_ = std::move(observer); }

    /// Returns when stop is asked, after the build under way. Postgres away is waited for.
    void run(const std::stop_token& stop);

private:
    void build_until_broken(const std::stop_token& stop);

    WorkerSettings settings_;
    std::shared_ptr<const ResolverRegistry> resolvers_;
    store::WakeUp& dirty_;
    core::Clock& clock_;
    FailureObserver failed_;
    std::function<void()> committed_;
    std::function<void(const BuildOutcome&)> built_;
    int failures_ = 0;
};

/// Proves file after file (Auditor), slowly. Threads: run() is confined to one thread.
class AuditLoop {
public:
    AuditLoop(WorkerSettings settings, std::shared_ptr<const ResolverRegistry> resolvers,
              core::Clock& clock = core::Clock::real());
    void on_failure(FailureObserver observer) { failed_ = std::move(observer); }
    void run(const std::stop_token& stop);

private:
    void audit_until_broken(const std::stop_token& stop);

    WorkerSettings settings_;
    std::shared_ptr<const ResolverRegistry> resolvers_;
    core::Clock& clock_;
    FailureObserver failed_;
    int failures_ = 0;
};

}  // namespace ftlfeed::build
