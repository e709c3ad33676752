// The real programs, called wrongly.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/paths.hpp"
#include "support/process.hpp"
#include "support/temp_folder.hpp"

using namespace ftl::test;

namespace {

/// With what it cannot do without, and `more`.
CommandResult run(const std::string& program, const std::vector<std::string>& more,
                  const ProcessOptions& options = {}) {
    std::vector<std::string> command{app(program).string()};
    if (program == "ftlctl") command.emplace_back("status");
    command.insert(command.end(), {"--postgres.uri", "postgresql://nobody@127.0.0.1:1/none"});
    command.insert(command.end(), more.begin(), more.end());
    return run_command(command, options);
}

void refuses(const CommandResult& result, const std::vector<std::string>& words) {
    CHECK(result.exit_code == 2);
    CHECK(result.output.empty());
    for (const auto& word : words) {
        INFO(result.errors);
        CHECK(result.errors.find(word) != std::string::npos);
    }
}

}  // namespace

TEST_CASE("app.programs: an unknown key ends each of them with 2 and the nearest known one wherever it stands") {
    const TempFolder folder;
    write_file(folder / "ftl.toml", "[postgres]\nuri_ = 'x'\n");
    for (const std::string program : {"ftl-ingest", "ftl-deliver", "ftl-serve", "ftlctl"}) {
        CAPTURE(program);
        refuses(run(program, {"--log.levle", "info"}), {"log.levle", "the nearest is log.level"});
        refuses(run(program, {}, {{{"FTL_LOG_LEVLE", "info"}}}), {"FTL_LOG_LEVLE", "the nearest is FTL_LOG_LEVEL"});
        refuses(run(program, {"--config", folder / "ftl.toml"}),
                {"ftl.toml", "postgres.uri_", "the nearest is postgres.uri"});
    }
}
