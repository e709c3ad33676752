#include "support/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "support/temp_folder.hpp"

extern char** environ;

namespace ftl::test {

namespace {

constexpr int kExitNotStarted = 127;

/// All that the child needs, made before the fork: after it only async-signal-safe calls are allowed.
struct Launch {
    std::vector<std::string> words;
    std::vector<std::string> environment_words;
    std::vector<char*> arguments;
    std::vector<char*> environment;
    int input_fd = -1;
    int output_fd = -1;
    int errors_fd = -1;
    std::string folder;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    result.reserve(words.size() + 1);
    for (auto& word : words) result.push_back(word.data());
    result.push_back(nullptr);
    return result;
}

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& extra) {
    std::map<std::string, std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const auto equals = text.find('=');
        if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
    }
    for (const auto& [name, value] : extra) all[name] = value;
    std::vector<std::string> words;
    words.reserve(all.size());
    for (const auto& [name, value] : all) words.push_back(name + "=" + value);
    return words;
}

int open_or_throw(const std::string& path, int flags) {
    const int file = open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (file < 0) throw std::system_error(errno, std::generic_category(), "open " + path);
    return file;
}

/// A pipe's worth of input; longer ones would need a writer thread.
int input_of(const std::string& text) {
    if (text.empty()) return open_or_throw("/dev/null", O_RDONLY);
    constexpr std::size_t kInputBytesMax = 64 * 1024;
    if (text.size() > kInputBytesMax) throw std::invalid_argument("input of more than 64 KiB");
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
    const auto written = write(ends[1], text.data(), text.size());
    close(ends[1]);
    if (written != static_cast<ssize_t>(text.size())) throw std::runtime_error("short write into a pipe");
    return ends[0];
}

[[noreturn]] void become(const Launch& launch, pid_t parent) {
    setpgid(0, 0);
    // A test that dies leaves no program behind, not even one that ignores a closed pipe.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(kExitNotStarted);
    const bool ready = dup2(launch.input_fd, 0) >= 0 && dup2(launch.output_fd, 1) >= 0 &&
                       dup2(launch.errors_fd, 2) >= 0 && (launch.folder.empty() || chdir(launch.folder.c_str()) == 0);
    if (ready) execvpe(launch.arguments[0], launch.arguments.data(), launch.environment.data());
    _exit(kExitNotStarted);
}

pid_t start(const std::vector<std::string>& command, const ProcessOptions& options) {
    if (command.empty()) throw std::invalid_argument("no command");
    const std::string output = options.log.empty() ? "/dev/null" : options.log.string();
    const std::string errors = options.error_log.empty() ? output : options.error_log.string();
    Launch launch;
    launch.words = command;
    launch.environment_words = merged_environment(options.environment);
    launch.arguments = pointers(launch.words);
    launch.environment = pointers(launch.environment_words);
    launch.folder = options.working_folder.string();
    launch.input_fd = input_of(options.input);
    launch.output_fd = open_or_throw(output, O_WRONLY | O_CREAT | O_APPEND);
    launch.errors_fd = open_or_throw(errors, O_WRONLY | O_CREAT | O_APPEND);
    const pid_t parent = getpid();
    const pid_t child = fork();
    const int fork_error = errno;
    if (child == 0) become(launch, parent);
    close(launch.input_fd);
    close(launch.output_fd);
    close(launch.errors_fd);
    if (child < 0) throw std::system_error(fork_error, std::generic_category(), "fork");
    return child;
}

ProcessEnd end_of(int status) {
    if (WIFSIGNALED(status)) return {.exit_code = {}, .signal = WTERMSIG(status)};
    return {.exit_code = WEXITSTATUS(status), .signal = {}};
}

}  // namespace

Process::Process(const std::vector<std::string>& command, const ProcessOptions& options)
    : pid_(start(command, options)) {}

Process::~Process() {
    if (pid_ > 0 && !end_) kill();
}

Process::Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), end_(std::exchange(other.end_, {})) {}

Process& Process::operator=(Process&& other) noexcept {
    if (this == &other) return *this;
    if (pid_ > 0 && !end_) kill();
    pid_ = std::exchange(other.pid_, -1);
    end_ = std::exchange(other.end_, {});
    return *this;
}

bool Process::is_running() { return !wait(std::chrono::milliseconds(0)); }

void Process::signal(int number) {
    if (!end_) ::kill(pid_, number);
}

std::optional<ProcessEnd> Process::wait(std::chrono::milliseconds limit) {
    (void)wait_until(
        [this] {
            if (end_) return true;
            int status = 0;
            if (waitpid(pid_, &status, WNOHANG) == pid_) end_ = end_of(status);
            return end_.has_value();
        },
        limit);
    return end_;
}

void Process::kill() {
    if (end_) return;
    // The group too: what the program started must not outlive it.
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    int status = 0;
    if (waitpid(pid_, &status, 0) == pid_) end_ = end_of(status);
}

ProcessEnd Process::terminate(std::chrono::milliseconds limit) {
    signal(SIGTERM);
    if (!wait(limit)) kill();
    return end_.value_or(ProcessEnd{});
}

CommandResult run_command(const std::vector<std::string>& command, const ProcessOptions& options,
                          std::chrono::milliseconds limit) {
    const TempFolder folder;
    ProcessOptions with_logs = options;
    with_logs.log = folder / "output";
    with_logs.error_log = folder / "errors";
    Process process(command, with_logs);
    const auto end = process.wait(limit);
    if (!end) throw std::runtime_error("still running after its limit: " + command.front());
    const auto errors = read_file(with_logs.error_log);
    if (!end->exit_code) {
        const auto signal = std::to_string(end->signal.value_or(0));
        throw std::runtime_error(command.front() + " was ended by signal " + signal + "\n" + errors);
    }
    return {.exit_code = *end->exit_code, .output = read_file(with_logs.log), .errors = errors};
}

}  // namespace ftl::test
