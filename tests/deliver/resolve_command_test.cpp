// Real programs of the system.
#include "deliver/resolve_command.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include <ftlfeed/core/failure.hpp>

#include "support/temp_folder.hpp"
#include "support/wait.hpp"

using namespace ftlfeed;
using namespace ftlfeed::deliver;
using ftl::test::TempFolder;
using std::chrono::milliseconds;

namespace {

std::string script(const TempFolder& folder, const std::string& text) {
    const auto path = (folder / "program").string();
    ftl::test::write_file(path, "#!/bin/sh\n" + text + "\n");
    chmod(path.c_str(), 0755);
    return path;
}

core::Secret resolve(const std::string& command, milliseconds limit = milliseconds(10'000)) {
    return resolve_by_command(command, {{command_words(command).front()}, limit}, core::Deadline::never(),
                              core::Clock::real());
}

core::Failure failure_of(const std::string& command, milliseconds limit = milliseconds(10'000)) {
    try {
        static_cast<void>(resolve(command, limit));
    } catch (const core::Failure& failure) {
        return failure;
    }
    throw std::runtime_error("it gave a secret");
}

}  // namespace

TEST_CASE("deliver.resolve_command: what the program prints is the secret without its last line break") {
    const TempFolder folder;
    CHECK(resolve(script(folder, "printf 'hunter 2\\n'")).reveal() == "hunter 2");
    CHECK(resolve(script(folder, "printf '%s' \"$1-$2\"") + "  a   b ").reveal() == "a-b");
}

TEST_CASE("deliver.resolve_command: no shell reads the command and signs of one are refused") {
    for (const std::string command :
         {"/bin/echo $HOME", "/bin/echo a; /bin/true", "/bin/echo a | /bin/cat", "/bin/echo `id`", "/bin/echo 'a'",
          "/bin/echo \"a\"", "/bin/echo a > /tmp/x", "/bin/echo a\n/bin/true", "/bin/echo a&", "/bin/echo *", "echo a",
          "./x", "", " ", "~/x"}) {
        CAPTURE(command);
        CHECK_THROWS_AS(static_cast<void>(command_words(command)), core::InvalidInput);
    }
    CHECK_THROWS_AS(static_cast<void>(command_words(std::string("/bin/echo \0", 11))), core::InvalidInput);
    CHECK(command_words("/bin/echo  -n\ta=b") == std::vector<std::string>{"/bin/echo", "-n", "a=b"});
}

TEST_CASE("deliver.resolve_command: a program that is not listed is not run") {
    const TempFolder folder;
    const auto mark = (folder / "ran").string();
    const auto program = script(folder, "touch " + mark);
    CHECK_THROWS_AS(static_cast<void>(resolve_by_command(program, {{"/bin/echo"}, milliseconds(1000)},
                                                         core::Deadline::never(), core::Clock::real())),
                    core::InvalidInput);
    CHECK_THROWS_AS(static_cast<void>(resolve_by_command(program, {}, core::Deadline::never(), core::Clock::real())),
                    core::InvalidInput);
    CHECK_FALSE(std::filesystem::exists(mark));
}

TEST_CASE("deliver.resolve_command: it sees neither our environment nor our files nor a terminal") {
    setenv("FTL_TEST_SECRET", "ours", 1);
    const TempFolder folder;
    const auto seen = resolve(script(folder, "env | sort | tr '\\n' ' '; ls /proc/self/fd | wc -l; cat")).reveal();
    unsetenv("FTL_TEST_SECRET");
    CHECK(seen.find("ours") == std::string::npos);
    CHECK(seen.find("PATH=/usr/local/bin:/usr/bin:/bin") != std::string::npos);
    CHECK(seen.find("HOME") == std::string::npos);
    CHECK(seen.ends_with("4"));  // 0, 1, 2 and the one that ls reads the folder by.
}

TEST_CASE(
    "deliver.resolve_command: a program that fails or prints nothing or too much gives no secret and no word of it") {
    const TempFolder folder;
    const auto failing = failure_of(script(folder, "echo hunter2; echo hunter2 >&2; exit 3"));
    CHECK(failing.may_retry());
    CHECK(std::string(failing.what()).find("exit code 3") != std::string::npos);
    CHECK(std::string(failing.what()).find("hunter2") == std::string::npos);
    CHECK(std::string(failure_of(script(folder, "kill -9 $$")).what()).find("signal 9") != std::string::npos);
    CHECK_FALSE(failure_of(script(folder, "true")).may_retry());
    CHECK_FALSE(failure_of(script(folder, "yes")).may_retry());
    CHECK(failure_of("/nonexistent/program").may_retry());
}

TEST_CASE("deliver.resolve_command: at its limit the program is killed with all that it started") {
    const TempFolder folder;
    const auto pid_file = folder / "pid";
    const auto begin = std::chrono::steady_clock::now();
    const auto failure =
        failure_of(script(folder, "sleep 600 & echo $! > " + pid_file.string() + "; wait"), milliseconds(300));
    CHECK(failure.may_retry());
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    const auto pid = std::stoi(ftl::test::read_file(pid_file));
    // Dead, or a zombie that nobody of ours has to reap.
    CHECK(ftl::test::wait_until([&] {
        if (kill(pid, 0) != 0) return true;
        const auto stat = ftl::test::read_file("/proc/" + std::to_string(pid) + "/stat");
        return stat.find(") Z ") != std::string::npos;
    }));
}
