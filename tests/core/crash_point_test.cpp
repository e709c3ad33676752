#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ftlfeed/core/crash_point.hpp>

namespace {

/// In a child: takes `steps` durable steps with FTL_CRASH_AT set. Returns its exit code; 50 + steps when it got through.
int exit_code_of(const char* crash_at, int steps) {
    const pid_t child = fork();
    if (child == 0) {
        crash_at == nullptr ? unsetenv("FTL_CRASH_AT") : setenv("FTL_CRASH_AT", crash_at, 1);
        for (int i = 0; i < steps; ++i) ftlfeed::core::durable_step("test.step");
        _exit(50 + steps);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("core.crash_point: the process ends at the n-th durable step and not before") {
    CHECK(exit_code_of("3", 2) == 52);
    CHECK(exit_code_of("3", 3) == 137);
    CHECK(exit_code_of("1", 1) == 137);
}

TEST_CASE("core.crash_point: without the variable nothing ends") {
    CHECK(exit_code_of(nullptr, 5) == 55);
    CHECK(exit_code_of("", 5) == 55);
    CHECK(exit_code_of("0", 5) == 55);
}

TEST_CASE("core.crash_point: with a name only the steps of that name count") {
    CHECK(exit_code_of("2:test.step", 2) == 137);
    CHECK(exit_code_of("2:test.step", 1) == 51);
    CHECK(exit_code_of("1:test.other", 5) == 55);
}
