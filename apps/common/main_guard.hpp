#pragma once

#include <functional>
#include <string>

namespace ftlfeed::app {

/// Exit codes of every binary.
enum ExitCode : int {
    kExitDone = 0,
    kExitFailure = 1,  ///< A runtime failure; a supervisor should start the program again.
    kExitUsage = 2,    ///< Usage or configuration; a person is needed.
};

/// Runs `body` and turns what it throws into a message on standard error and an exit code.
[[nodiscard]] int main_guard(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace ftlfeed::app
