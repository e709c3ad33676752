#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ftlfeed/core/settings.hpp>

#include "common/common_settings.hpp"
#include "common/runtime.hpp"

namespace ftlfeed::app {

/// A service binary: settings, --help, --version, --check, log, signals, ops server, exit codes. See README.md.
/// Threads: confined to main's.
class Program {
public:
    /// `intro` is the first thing that --help says: what the program does, what it needs, how one sees that it works.
    Program(std::string name, std::string intro);

    /// Bind the program's own settings here before run().
    [[nodiscard]] core::Settings& settings() { return settings_; }
    /// A part of --check beyond configuration and Postgres; it throws when it does not hold.
    void add_check(std::string name, std::function<void(Runtime&)> check);

    /// Called once all settings are read, before anything is opened: throws core::InvalidInput when they do not fit
    /// together.
    void on_settings(std::function<void()> validate) { validate_ = std::move(validate); }

    /// All of main(): returns its exit code. `body` builds the objects, waits, and returns when a stop was asked.
    [[nodiscard]] int run(int argc, char** argv, const std::function<void(Runtime&)>& body);

private:
    int run_with(const std::vector<std::string>& args, const std::function<void(Runtime&)>& body);
    int check(Runtime& runtime) const;
    void serve(Runtime& runtime, const std::function<void(Runtime&)>& body) const;
    /// SIGHUP: the log's settings, read again from where they came.
    void reload_log(const std::vector<std::string>& args) const;

    std::string name_;
    std::string intro_;
    core::Settings settings_;
    CommonSettings common_;
    std::function<void()> validate_;
    std::vector<std::pair<std::string, std::function<void(Runtime&)>>> checks_;
};

}  // namespace ftlfeed::app
