#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ftlctl {

class Call;

/// An option of one command: `--name VALUE`, or a flag when `value` is empty. A value.
struct Option {
    std::string name;
    std::string value;
    std::string doc;
    bool is_required = false;
};

/// One command: how it is called, what `--help` teaches, and what it does. A value.
struct Command {
    std::vector<std::string> words;     ///< `event rule set`
    std::vector<std::string> operands;  ///< `CODE`; one in brackets may be left out
    std::string summary;                ///< One line for the overview
    std::string teaching;               ///< What it means and an example, shown by `--help`
    std::vector<Option> options;
    std::function<int(Call&)> run;  ///< Returns the exit code
};

std::vector<Command> alert_commands();
std::vector<Command> client_commands();
std::vector<Command> destination_commands();
std::vector<Command> doctor_commands();
std::vector<Command> entitlement_commands();
std::vector<Command> event_commands();
std::vector<Command> feed_commands();
std::vector<Command> key_commands();
std::vector<Command> migrate_commands();
std::vector<Command> outbox_commands();
std::vector<Command> status_commands();

/// All of them, in the order of the overview.
std::vector<Command> all_commands();

}  // namespace ftlctl
