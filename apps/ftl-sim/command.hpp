#pragma once

#include <csignal>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ftlfeed::sim {

/// The command line is wrong: exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Signals as calls on a thread of their own. Build it before any other thread: it blocks the signals for all of them.
class SignalWatch {
public:
    SignalWatch(std::initializer_list<int> signals, std::function<void(int)> on_signal);
    ~SignalWatch();
    SignalWatch(const SignalWatch&) = delete;
    SignalWatch& operator=(const SignalWatch&) = delete;

private:
    sigset_t set_{};
    sigset_t before_{};
    std::function<void(int)> on_signal_;
    std::jthread thread_;
};

/// Writes `content` to a new file beside `path` and renames it there: a waiting reader never sees a part.
/// Throws std::runtime_error.
void write_file_whole(const std::string& path, const std::string& content);

/// The sub-commands: each reads its options, works, and returns the exit code. Throws UsageError.
int run_provider(const std::vector<std::string>& arguments);
int run_generate(const std::vector<std::string>& arguments);
int run_receive(const std::vector<std::string>& arguments);
int run_pull(const std::vector<std::string>& arguments);
int run_proxy(const std::vector<std::string>& arguments);

}  // namespace ftlfeed::sim
