// Reads an outbox until it is killed: outbox_reader URI CONSUMER METHOD PAGE_ROWS_MAX [hold]
// With `hold` it stops in the middle of its first page, says so on standard output, and waits to be killed.

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <ftlfeed/core/clock.hpp>
#include <stop_token>
#include <string>

#include "readers.hpp"

namespace {

using namespace ftl::test::outbox;

constexpr std::chrono::milliseconds kPollInterval{5};

void read_until_broken(Method method, const ReaderOptions& options) {
    const auto reader = make_reader(method, options);
    while (true) {
        if (reader->read_page() == 0) ftlfeed::core::Clock::real().sleep_for(kPollInterval, std::stop_token());
    }
}

[[noreturn]] void hold() {
    std::puts("holding");
    std::fflush(stdout);
    while (true) pause();
}

}  // namespace

int main(int count, char** words) {
    if (count < 5) return 2;
    ReaderOptions options;
    options.uri = words[1];
    options.consumer = words[2];
    options.page_rows_max = std::stoul(words[4]);
    if (count > 5 && std::string(words[5]) == "hold") options.before_commit = hold;
    while (true) {
        try {
            read_until_broken(method_named(words[3]), options);
        } catch (const std::exception& error) {
            // Postgres is away for a moment: that is what the test is about.
            std::fprintf(stderr, "%s\n", error.what());
            ftlfeed::core::Clock::real().sleep_for(kPollInterval * 4, std::stop_token());
        }
    }
}
