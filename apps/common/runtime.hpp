#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/guarded.hpp>
#include <ftlfeed/store/session.hpp>

#include "common/common_settings.hpp"
#include "common/readiness.hpp"

namespace ftlfeed::app {

/// What a running service has around it. Made by Program; borrowed by everything in the service's body.
/// Threads: thread-safe, but for on_reload(), which belongs to the body's thread.
class Runtime {
public:
    Runtime(std::string program, const CommonSettings& settings, core::Clock& clock, std::stop_source stop)
        : program_(std::move(program)), settings_(settings), clock_(clock), stop_(std::move(stop)) {}
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    [[nodiscard]] const std::string& program() const { return program_; }
    [[nodiscard]] core::Clock& clock() const { return clock_; }
    /// Asked by SIGTERM and SIGINT.
    [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
    /// Ends the service as SIGTERM would: it drains, and exits 0.
    void request_stop() { stop_.request_stop(); }
    [[nodiscard]] std::chrono::seconds shutdown_limit() const {
        return std::chrono::seconds(settings_.shutdown_seconds);
    }
    [[nodiscard]] Readiness& readiness() { return readiness_; }

    /// How to reach Postgres; `role` is shown in pg_stat_activity as `PROGRAM/ROLE`.
    [[nodiscard]] store::ConnectionSettings postgres(const std::string& role) const;
    /// A new session, after the look that every connect needs: has the cluster changed, and with it the epoch?
    [[nodiscard]] store::Session connect(const std::string& role) const;
    /// Connects and checks that the database is at this program's migrations. Throws core::Failure.
    void check_postgres() const;
    /// Waits until check_postgres() holds. Returns false when a stop was asked first; throws what waiting cannot cure.
    bool wait_for_postgres();
    /// Calls `attempt` until it no longer throws a Failure that may be retried, at growing distance; meanwhile /readyz
    /// says why, and the log at once and then every 30 s. Returns false when a stop was asked first.
    bool wait_for(const std::string& name, const std::function<void()>& attempt);

    /// Has `callback` called at each SIGHUP, on the signals' thread.
    void on_reload(std::function<void()> callback);
    void reload();

private:
    std::string program_;
    const CommonSettings& settings_;
    core::Clock& clock_;
    std::stop_source stop_;
    Readiness readiness_;
    core::Guarded<std::vector<std::function<void()>>> reload_callbacks_;
};

}  // namespace ftlfeed::app
