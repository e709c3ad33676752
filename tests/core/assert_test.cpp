#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ftlfeed/core/assert.hpp>

TEST_CASE("core.assert: a broken invariant ends the program or throws and a kept one does nothing") {
    FTL_ASSERT(1 + 1 == 2);
#ifdef NDEBUG
    CHECK_THROWS_AS(FTL_ASSERT(1 + 1 == 3), ftlfeed::core::Bug);
#else
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);  // doctest catches it.
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
        FTL_ASSERT(1 + 1 == 3);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
#endif
}
