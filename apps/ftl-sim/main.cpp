#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>
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

struct SubCommand {
    std::string_view name;
    int (*run)(const std::vector<std::string>& arguments);
};

constexpr std::array<SubCommand, 5> kSubCommands{{
    {"provider", ftlfeed::sim::run_provider},
    {"generate", ftlfeed::sim::run_generate},
    {"receive", ftlfeed::sim::run_receive},
    {"pull", ftlfeed::sim::run_pull},
    {"proxy", ftlfeed::sim::run_proxy},
}};

const SubCommand* sub_command(std::string_view name) {
    const auto* found = std::find_if(kSubCommands.begin(), kSubCommands.end(),
                                     [name](const SubCommand& command) { return command.name == name; });
    return found == kSubCommands.end() ? nullptr : found;
}

int run(const std::vector<std::string>& arguments) {
    using ftlfeed::sim::UsageError;
    constexpr auto kThereAre = "there are provider, generate, receive, pull and proxy";
    if (arguments.empty()) throw UsageError(std::string("a sub-command is needed: ") + kThereAre);
    const auto& name = arguments.front();
    if (const auto* command = sub_command(name)) return command->run({arguments.begin() + 1, arguments.end()});
    if (name != "--help" && name != "-h") throw UsageError("'" + name + "' is no sub-command: " + kThereAre);
    fmt::print("{}", kHelp);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    try {
        return run(arguments);
    } catch (const ftlfeed::sim::UsageError& error) {
        const auto taught = arguments.empty() || !sub_command(arguments.front()) ? "" : arguments.front() + " ";
        fmt::print(stderr, "ftl-sim: {}\nTry 'ftl-sim {}--help'.\n", error.what(), taught);
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "ftl-sim: {}\n", error.what());
        return 1;
    }
}
