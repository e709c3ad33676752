#include "common/runtime.hpp"

#include <algorithm>

#include <ftlfeed/core/backoff.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>
#include <ftlfeed/store/epoch.hpp>
#include <ftlfeed/store/migrator.hpp>

#include "common/outage.hpp"

namespace ftlfeed::app {

namespace {
constexpr std::chrono::milliseconds kPauseFirst{200};
constexpr std::chrono::milliseconds kPauseMax{2000};
}  // namespace

store::ConnectionSettings Runtime::postgres(const std::string& role) const {
    auto settings = settings_.postgres;
    settings.application = program_ + '/' + role;
    return settings;
}

store::Session Runtime::connect(const std::string& role) const {
    store::Session session(postgres(role));
    static_cast<void>(store::check_epoch(session));
    return session;
}

void Runtime::check_postgres() const {
    store::Session session(postgres("check"));
    const auto status = store::Migrator(session).status();
    const auto newest = store::migrations().back().version;
    if (status.is_dirty || status.current > newest) {
        throw core::Failure::permanent("the database is at migration " + std::to_string(status.current) +
                                       (status.is_dirty ? ", marked dirty" : ", newer than this program knows"));
    }
    // Somebody may be about to migrate it, so this is worth waiting for.
    if (!status.pending.empty()) {
        throw core::Failure::unavailable("the database lacks " + std::to_string(status.pending.size()) +
                                         " migrations; run: ftlctl migrate up");
    }
    static_cast<void>(store::check_epoch(session));
}

bool Runtime::wait_for_postgres() {
    return wait_for("postgres", [this] { check_postgres(); });
}

bool Runtime::wait_for(const std::string& name, const std::function<void()>& attempt) {
    Outage outage;
    core::Jitter jitter;
    while (!stop_.stop_requested()) {
        try {
            attempt();
            readiness_.set_ready(name);
            if (outage.recovered()) core::log_info("app.dependency_back", {{"name", name}});
            return true;
        } catch (const core::Failure& failure) {
            if (!failure.may_retry()) throw failure.within(name);
            readiness_.set_waiting(name, failure.what());
            if (outage.failed(clock_.steady_now())) {
                core::log_warning("app.waiting", {{"name", name}, {"error", failure.what()}});
            }
        }
        // Half of it at least: a dead server is not to be asked as fast as we can.
        const auto pause =
            core::full_jitter(std::min(outage.failures(), 10), kPauseFirst, kPauseMax, 0.5 + jitter() / 2);
        clock_.sleep_for(pause, stop_.get_token());
    }
    return false;
}

void Runtime::on_reload(std::function<void()> callback) {
    reload_callbacks_.with([&](auto& callbacks) { callbacks.push_back(std::move(callback)); });
}

void Runtime::reload() {
    const auto callbacks = reload_callbacks_.with([](const auto& all) { return all; });
    for (const auto& callback : callbacks) callback();
}

}  // namespace ftlfeed::app
