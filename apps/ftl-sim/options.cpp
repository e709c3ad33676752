#include "options.hpp"

#include <fmt/core.h>

#include <fstream>
#include <iterator>

#include "command.hpp"

namespace ftlfeed::sim {

std::optional<cxxopts::ParseResult> parse(cxxopts::Options& options, const Texts& arguments, const char* examples) {
    options.add_options()("h,help", "Show this and end");
    std::vector<const char*> raw{"ftl-sim"};
    for (const auto& argument : arguments) raw.push_back(argument.c_str());
    try {
        auto parsed = options.parse(static_cast<int>(raw.size()), raw.data());
        if (!parsed.unmatched().empty()) throw UsageError("'" + parsed.unmatched().front() + "' is not expected here");
        if (parsed.count("help") == 0) return parsed;
    } catch (const cxxopts::exceptions::exception& error) {
        throw UsageError(error.what());
    }
    fmt::print("{}\n{}", options.help(), examples);
    return std::nullopt;
}

std::string needed(const cxxopts::ParseResult& options, const std::string& name) {
    if (options.count(name) == 0) throw UsageError("--" + name + " is needed");
    return options[name].as<std::string>();
}

void announce_port(const cxxopts::ParseResult& options, std::uint16_t port, const std::string& what) {
    fmt::print(stderr, "ftl-sim: {} on 127.0.0.1:{}\n", what, port);
    if (options.count("port-file") > 0) {
        write_file_whole(options["port-file"].as<std::string>(), std::to_string(port) + "\n");
    }
}

std::string script_text(const std::string& text) {
    if (!text.starts_with('@')) return text;
    std::ifstream file(text.substr(1), std::ios::binary);
    if (!file) throw UsageError("cannot read the script " + text.substr(1));
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace ftlfeed::sim
