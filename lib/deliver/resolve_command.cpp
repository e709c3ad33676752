#include "deliver/resolve_command.hpp"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::deliver {
namespace {

using core::Failure;

constexpr std::size_t kOutputBytesMax = std::size_t{64} << 10;
constexpr std::chrono::milliseconds kLookMost{200};

/// A file descriptor, closed at the end.
class OwnedFd {
public:
    explicit OwnedFd(int fd) : fd_(fd) {}
    ~OwnedFd() { close(); }
    OwnedFd(const OwnedFd&) = delete;
    OwnedFd& operator=(const OwnedFd&) = delete;
    [[nodiscard]] int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_;
};

/// What posix_spawn is told: output into `pipe_end`, all else closed, no signal blocked or ignored, a session of its own.
class Spawning {
public:
    explicit Spawning(int pipe_end) {
        posix_spawn_file_actions_init(&actions_);
        posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions_, pipe_end, 1);
        posix_spawn_file_actions_addopen(&actions_, 2, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
        posix_spawnattr_init(&attributes_);
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        posix_spawnattr_setsigmask(&attributes_, &none);
        posix_spawnattr_setsigdefault(&attributes_, &all);
        posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    ~Spawning() {
        posix_spawn_file_actions_destroy(&actions_);
        posix_spawnattr_destroy(&attributes_);
    }
    Spawning(const Spawning&) = delete;
    Spawning& operator=(const Spawning&) = delete;

    /// 0, or an errno.
    int start(pid_t& child, const std::vector<std::string>& words) const {
        std::vector<char*> arguments;
        for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));  // It writes to none.
        arguments.push_back(nullptr);
        static char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
        static std::array<char*, 2> environment{path, nullptr};
        return posix_spawn(&child, words.front().c_str(), &actions_, &attributes_, arguments.data(),
                           environment.data());
    }

private:
    posix_spawn_file_actions_t actions_{};
    posix_spawnattr_t attributes_{};
};

/// A program that is killed with all that it started, and reaped, at the end.
class Child {
public:
    // By its number: the header of glibc 2.36 declares pidfd_open() for C alone.
    explicit Child(pid_t pid) : pid_(pid), fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
    ~Child() {
        if (status_) return;
        ::kill(-pid_, SIGKILL);
        reap(0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    [[nodiscard]] int fd() const { return fd_.get(); }
    /// Its wait status, once it has ended.
    std::optional<int> ended() {
        if (!status_) reap(WNOHANG);
        return status_;
    }

private:
    void reap(int options) {
        int status = 0;
        pid_t found = 0;
        do {
            found = ::waitpid(pid_, &status, options);
        } while (found < 0 && errno == EINTR);
        if (found == pid_) status_ = status;
    }
    pid_t pid_;
    OwnedFd fd_;
    std::optional<int> status_;
};

std::string program_of(const std::string& path) { return "the program " + path; }

/// Waits until there is output, or the child has ended, or it is time to look again.
void wait_for_news(int output, int child, std::chrono::milliseconds at_most) {
    std::array<pollfd, 2> look{{{output, POLLIN, 0}, {child, POLLIN, 0}}};
    static_cast<void>(::poll(look.data(), look.size(), static_cast<int>(std::min(at_most, kLookMost).count())));
}

/// Reads what is there; false at the end of the output.
bool read_output(int fd, std::string& text) {
    std::array<char, 4096> bytes{};
    const auto count = ::read(fd, bytes.data(), bytes.size());
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
    OPENSSL_cleanse(bytes.data(), bytes.size());
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/// The output of a child, until it has ended.
std::string output_of(Child& child, OwnedFd& output, const std::string& name, core::Deadline deadline,
                      const core::Clock& clock) {
    std::string text;
    text.reserve(kOutputBytesMax + 4096);  // Never moved: a copy would stay behind unwiped.
    while (true) {
        const auto now = clock.steady_now();
        if (deadline.is_over(now)) throw Failure::unavailable(name + " was not through in time");
        if (output.get() >= 0 && !read_output(output.get(), text)) output.close();
        if (text.size() > kOutputBytesMax) throw Failure::permanent(name + " printed more than 64 KiB");
        const auto status = child.ended();
        // What it printed before its end is in the pipe; what a grandchild prints later is not waited for.
        if (status) {
            while (output.get() >= 0 && text.size() <= kOutputBytesMax) {
                const auto before = text.size();
                if (!read_output(output.get(), text) || text.size() == before) break;
            }
            if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
                throw Failure::unavailable(name + " ended with " +
                                           (WIFEXITED(*status) ? "exit code " + std::to_string(WEXITSTATUS(*status))
                                                               : "signal " + std::to_string(WTERMSIG(*status))));
            }
            return text;
        }
        wait_for_news(output.get(), child.fd(), deadline.left(now));
    }
}

}  // namespace

std::vector<std::string> command_words(const std::string& command) {
    constexpr std::string_view kSigns = "\"'`\\$|&;<>*?(){}~\n\r";
    if (command.find_first_of(kSigns) != std::string::npos || command.find('\0') != std::string::npos) {
        throw core::InvalidInput(
            "the command of a credential is read by no shell: it is a program's path and its arguments, parted by "
            "blanks, without quotes and signs; put what needs a shell into a script");
    }
    std::vector<std::string> words;
    for (auto begin = command.find_first_not_of(" \t"); begin != std::string::npos;) {
        const auto end = std::min(command.find_first_of(" \t", begin), command.size());
        words.push_back(command.substr(begin, end - begin));
        begin = command.find_first_not_of(" \t", end);
    }
    if (words.empty() || words.front().front() != '/') {
        throw core::InvalidInput("the command of a credential begins with the absolute path of a program");
    }
    return words;
}

core::Secret resolve_by_command(const std::string& command, const ResolveRules& rules, core::Deadline deadline,
                                const core::Clock& clock) {
    const auto words = command_words(command);
    const auto& program = words.front();
    if (std::find(rules.programs.begin(), rules.programs.end(), program) == rules.programs.end()) {
        throw core::InvalidInput(program_of(program) + " may not be run; add it to deliver.resolve_programs");
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw Failure::unavailable("cannot make a pipe for " + program_of(program));
    }
    OwnedFd output(ends[0]);
    OwnedFd input(ends[1]);
    ::fcntl(output.get(), F_SETFL, O_NONBLOCK);  // Our end alone: programs do not expect it of theirs.
    pid_t pid = -1;
    if (const int error = Spawning(input.get()).start(pid, words); error != 0) {
        throw Failure::unavailable(program_of(program) + " does not start: " + std::strerror(error));
    }
    Child child(pid);
    input.close();
    auto text =
        output_of(child, output, program_of(program), deadline.earlier(core::Deadline::in(clock, rules.limit)), clock);
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    if (text.empty()) throw Failure::permanent(program_of(program) + " printed nothing");
    return core::Secret(std::move(text));
}

}  // namespace ftlfeed::deliver
