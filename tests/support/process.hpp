#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/wait.hpp"

namespace ftl::test {

/// How a process ended: by its own exit code, or by a signal.
struct ProcessEnd {
    std::optional<int> exit_code;
    std::optional<int> signal;

    bool operator==(const ProcessEnd&) const = default;
};

struct ProcessOptions {
    /// Set on top of the environment of the test.
    std::map<std::string, std::string> environment{};
    /// Where standard output and error go, appended; nowhere when empty.
    std::filesystem::path log{};
    /// Where standard error goes instead, when it is not empty.
    std::filesystem::path error_log{};
    /// Given to the process as standard input; empty means that it is at its end at once.
    std::string input{};
    std::filesystem::path working_folder{};
};

/// A program that runs beside the test, in a process group of its own. Killed, if it still runs, at the end; it is
/// killed as well when the test dies. Threads: confined to one thread. The program dies with the thread that started
/// it.
class Process {
public:
    /// Starts `command`; its first word is a path or is looked up in PATH. Throws std::system_error when that fails.
    explicit Process(const std::vector<std::string>& command, const ProcessOptions& options = {});
    ~Process();
    Process(Process&& other) noexcept;
    Process& operator=(Process&& other) noexcept;
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool is_running();

    /// Sends a signal to the program alone.
    void signal(int number);

    /// Waits for the end, at most `limit`. Returns nothing when it still runs then.
    std::optional<ProcessEnd> wait(std::chrono::milliseconds limit = kWaitLimitDefault);

    /// SIGKILL, and waits for the end.
    void kill();

    /// SIGTERM, and waits for the end; SIGKILL when that takes longer than `limit`. Returns how it ended.
    ProcessEnd terminate(std::chrono::milliseconds limit = kWaitLimitDefault);

private:
    pid_t pid_ = -1;
    std::optional<ProcessEnd> end_;
};

/// What a short program said, and its exit code.
struct CommandResult {
    int exit_code = -1;
    std::string output;
    std::string errors;
};

/// Runs a program to its end. Throws std::runtime_error when it is not through after `limit` or was ended by a signal.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& command, const ProcessOptions& options = {},
                                        std::chrono::milliseconds limit = std::chrono::seconds(60));

}  // namespace ftl::test
