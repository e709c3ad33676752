#include "common/program.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <optional>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/log.hpp>

#include "common/help.hpp"
#include "common/main_guard.hpp"
#include "common/ops_server.hpp"
#include "common/sd_notify.hpp"
#include "common/signals.hpp"

namespace ftlfeed::app {

namespace {

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

/// Takes `word` out of `args`; was it there?
bool take(std::vector<std::string>& args, const std::string& word) {
    const auto found = std::find(args.begin(), args.end(), word);
    if (found == args.end()) return false;
    args.erase(found);
    return true;
}

/// One part of --check. Returns whether it holds.
bool check_one(const std::string& name, const std::function<void()>& check) {
    try {
        check();
        print("ok    " + name + "\n");
        return true;
    } catch (const core::InvalidInput&) {
        throw;  // Configuration: exit code 2, as everywhere.
    } catch (const std::exception& error) {
        print("FAIL  " + name + ": " + error.what() + "\n");
        return false;
    }
}

}  // namespace

Program::Program(std::string name, std::string intro) : name_(std::move(name)), intro_(std::move(intro)) {
    common_.bind(settings_);
}

void Program::add_check(std::string name, std::function<void(Runtime&)> check) {
    checks_.emplace_back(std::move(name), std::move(check));
}

int Program::run(int argc, char** argv, const std::function<void(Runtime&)>& body) {
    const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
    return main_guard(name_, [&] { return run_with(args, body); });
}

int Program::run_with(const std::vector<std::string>& args, const std::function<void(Runtime&)>& body) {
    // Before the settings are read: whoever asks for help may have none that are right.
    if (std::find(args.begin(), args.end(), "--help") != args.end()) {
        print(help_text(name_, intro_, settings_));
        return kExitDone;
    }
    if (std::find(args.begin(), args.end(), "--version") != args.end()) {
        print(name_ + ' ' + FTL_VERSION + '\n');
        return kExitDone;
    }
    const auto environment = core::process_environment();
    refuse_open_password(args, environment);
    auto rest = settings_.load(args, environment);
    const bool is_check = take(rest, "--check");
    if (!rest.empty()) throw core::InvalidInput("unknown argument " + rest.front() + "; see --help");
    common_.complete();
    if (validate_) validate_();

    block_signals();  // Before the first thread.
    const std::stop_source stop;
    Runtime runtime(name_, common_, core::Clock::real(), stop);
    if (is_check) return check(runtime);

    core::configure_log(common_.log(name_));
    const SystemdNotifier notifier(environment);
    const SignalWatch signals(
        stop,
        [&] {
            reload_log(args);
            runtime.reload();
        },
        notifier);
    core::log_info("app.started", {{"version", FTL_VERSION}});
    notifier.send("READY=1");
    try {
        serve(runtime, body);
    } catch (const std::exception& error) {
        core::log_error("app.failed", {{"error", error.what()}});
        notifier.send("STOPPING=1");
        throw;
    }
    notifier.send("STOPPING=1");
    core::log_info("app.stopped");
    return kExitDone;
}

int Program::check(Runtime& runtime) const {
    print("ok    settings\n");
    bool all_hold = check_one("postgres", [&] { runtime.check_postgres(); });
    for (const auto& [name, part] : checks_) {
        all_hold = check_one(name, [&, &part = part] { part(runtime); }) && all_hold;
    }
    return all_hold ? kExitDone : kExitFailure;
}

void Program::serve(Runtime& runtime, const std::function<void(Runtime&)>& body) const {
    runtime.readiness().set_waiting("postgres", "starting");
    // Until Supervisor::run() has all parts named: that Postgres answers is not all that the program waits for.
    runtime.readiness().set_waiting(kWorkersPart, "starting");
    std::optional<OpsServer> ops;
    if (!common_.ops_address.empty()) {
        ops.emplace(common_.ops_address, runtime.readiness());
        core::log_info("ops.listening", {{"port", ops->port()}});
        if (!common_.ops_port_file.empty()) write_port_file(common_.ops_port_file, ops->port());
    }
    if (runtime.wait_for_postgres()) body(runtime);
}

void Program::reload_log(const std::vector<std::string>& args) const {
    // The program's own variables are in use by its threads: everything but the log is read into the void.
    CommonSettings fresh;
    core::Settings settings;
    std::deque<std::string> values;
    std::deque<std::vector<std::string>> lists;
    std::deque<bool> flags;
    for (const auto& known : settings_.describe()) {
        if (known.key == "log.level") {
            settings.bind(known.key, fresh.log_level, known.doc);
        } else if (known.key == "log.form") {
            settings.bind(known.key, fresh.log_form, known.doc);
        } else if (known.takes_list) {
            settings.bind(known.key, lists.emplace_back(), known.doc);
        } else if (known.is_bool) {
            settings.bind(known.key, flags.emplace_back(false), known.doc);
        } else {
            settings.bind(known.key, values.emplace_back(), known.doc);
        }
    }
    try {
        static_cast<void>(settings.load(args, core::process_environment()));
        core::configure_log(fresh.log(name_));
        core::log_info("app.reloaded");
    } catch (const core::InvalidInput& error) {
        core::log_error("app.reload_refused", {{"error", error.what()}});  // The old settings stand.
    }
}

}  // namespace ftlfeed::app
