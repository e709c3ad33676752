#include "common/help.hpp"

#include <fmt/format.h>

namespace ftlfeed::app {

std::string help_text(const std::string& program, const std::string& intro, const core::Settings& settings) {
    std::string text = intro + "\n\n";
    text += fmt::format("usage: {} [--config FILE] [--SECTION.KEY VALUE]…\n", program);
    text += fmt::format("       {} --check      read the settings, try the connections, say what is wrong\n", program);
    text += fmt::format("       {} --help | --version\n\n", program);
    text +=
        "A setting is given as a flag (--section.key VALUE), as a variable (FTL_SECTION_KEY) or in the file\n"
        "(key = VALUE under [section]); a flag beats a variable, a variable beats the file. Secrets stand in files of\n"
        "their own, named by keys that end in _file. Exit codes: 0 done, 1 failure, 2 usage or configuration.\n"
        "SIGTERM drains and ends; SIGHUP re-reads what can change.\n\n";
    for (const auto& setting : settings.describe()) {
        text += fmt::format("  --{}\n        {}", setting.key, setting.doc);
        text += setting.default_text.empty() ? "\n" : fmt::format(" (default {})\n", setting.default_text);
    }
    return text;
}

}  // namespace ftlfeed::app
