#pragma once

#include <cstdint>
#include <cxxopts.hpp>
#include <optional>
#include <string>
#include <vector>

// What the sub-commands share to read their options.
namespace ftlfeed::sim {

using Texts = std::vector<std::string>;

/// Parses a sub-command's options; --help prints `examples` with the options and gives nothing back. Throws UsageError.
std::optional<cxxopts::ParseResult> parse(cxxopts::Options& options, const Texts& arguments, const char* examples);

/// Throws UsageError when it is not given.
std::string needed(const cxxopts::ParseResult& options, const std::string& name);

/// Tells whoever waits for it which port was taken: on standard error, and in --port-file.
void announce_port(const cxxopts::ParseResult& options, std::uint16_t port, const std::string& what);

/// The text itself, or with `@` in front the content of a file. Throws UsageError.
std::string script_text(const std::string& text);

}  // namespace ftlfeed::sim
