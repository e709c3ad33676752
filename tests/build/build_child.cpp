// build_child URI STEP: builds the next due file and kills itself, as SIGKILL by somebody else would, at STEP (the
// number of a BuildStep; -1: never, -2: right after the mark was ended). The outcome's number goes to standard output.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <ftlfeed/build/feed_builder.hpp>
#include <ftlfeed/store/session.hpp>

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    using namespace ftlfeed;
    const int fatal_step = std::atoi(argv[2]);
    const auto die = [] { kill(getpid(), SIGKILL); };
    store::ConnectionSettings settings;
    settings.uri = argv[1];
    store::Session session(settings);
    build::FeedBuilder builder(session, std::make_shared<build::ResolverRegistry>(), {},
                               [&](build::BuildStep step, const std::string&) {
                                   if (static_cast<int>(step) == fatal_step) die();
                               });
    const auto outcome = builder.build_next();
    if (fatal_step == -2) die();
    std::cout << static_cast<int>(outcome.result) << '\n';
    return 0;
}
