#include <fmt/core.h>

#include <exception>
#include <string>
#include <vector>

#include "command.hpp"

namespace {

constexpr const char* kHelp = R"(ftl-sim plays the world around ftlfeed.

  ftl-sim provider   a football provider: a tournament over HTTP, minute by minute
  ftl-sim generate   writes a made-up tournament for the provider to play
  ftl-sim receive    a receiving client: logs what comes to its folder or its webhook
  ftl-sim pull       a pulling client: asks for files again and again
  ftl-sim proxy      a TCP relay with faults on demand

Each tells more with --help. SIGTERM ends them cleanly.

Example:
  ftl-sim generate --seed 7 --out cup.json
  ftl-sim provider --data cup.json --port 8080
)";

int run(const std::vector<std::string>& arguments) {
    using namespace ftlfeed::sim;
    if (arguments.empty()) throw UsageError("a sub-command is needed: provider, generate, receive, pull or proxy");
    const auto& name = arguments.front();
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (name == "provider") return run_provider(rest);
    if (name == "generate") return run_generate(rest);
    if (name == "receive") return run_receive(rest);
    if (name == "pull") return run_pull(rest);
    if (name == "proxy") return run_proxy(rest);
    if (name == "--help" || name == "-h") {
        fmt::print("{}", kHelp);
        return 0;
    }
    throw UsageError("'" + name + "' is no sub-command: there are provider, generate, receive, pull and proxy");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const ftlfeed::sim::UsageError& error) {
        fmt::print(stderr, "ftl-sim: {}\nTry 'ftl-sim --help'.\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "ftl-sim: {}\n", error.what());
        return 1;
    }
}
