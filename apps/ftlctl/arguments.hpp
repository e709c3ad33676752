#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ftlctl/command.hpp>

namespace ftlctl {

/// The call itself is wrong: an unknown command or option, a missing operand. Exit code 2.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What stands on the command line after the command's words. A value.
struct Arguments {
    std::vector<std::string> operands;
    std::map<std::string, std::string> options;  ///< A flag's value is empty

    [[nodiscard]] bool has(const std::string& name) const { return options.contains(name); }
    [[nodiscard]] std::optional<std::string> find(const std::string& name) const;
};

/// Reads `words` (without the command's own) by what `command` takes. An argument such as `-5000` is an operand: bump
/// amounts may be negative. Throws UsageError that names the argument and the remedy.
Arguments parse_arguments(const Command& command, const std::vector<std::string>& words);

/// A whole number, or UsageError that names `what`.
std::int64_t parse_number(const std::string& what, const std::string& text);

/// A name that may stand in a file's key and path, or UsageError that names `what`.
const std::string& parse_name(const std::string& what, const std::string& text);
/// `a,b,c`: such names, at least one. Empty parts are dropped.
std::vector<std::string> parse_names(const std::string& what, const std::string& text);

/// What every command takes besides its own options.
const std::vector<Option>& common_options();

/// `ftlctl event add CODE --season ID …`
std::string usage_line(const Command& command);
std::string joined_words(const Command& command);

}  // namespace ftlctl
