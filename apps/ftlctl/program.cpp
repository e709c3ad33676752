#include <ftlctl/program.hpp>

#include <algorithm>
#include <exception>
#include <optional>

#include <common/common_settings.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/core/settings.hpp>

#include <ftlctl/arguments.hpp>
#include <ftlctl/call.hpp>
#include <ftlctl/command.hpp>

namespace ftlctl {

namespace {

using ftlfeed::core::Settings;

constexpr auto kIntro =
    "ftlctl looks at an installation of ftlfeed and changes it.\n"
    "\n"
    "A first installation, step by step:\n"
    "  ftlctl migrate up                                  make the tables\n"
    "  ftlctl event add wc2026 --season 1                 read the provider's season 1 as event wc2026\n"
    "  ftlctl event rule set wc2026 goal scorer 50000     what a goal is worth, in millionths\n"
    "  ftlctl client add acme --name 'Acme Sports'        somebody who gets files\n"
    "  ftlctl destination add acme main --transport directory --folder /srv/acme\n"
    "  ftlctl doctor                                      is everything as it should be?\n"
    "\n"
    "It needs to know the database: FTL_POSTGRES_URI, --postgres.uri URI, or --config FILE, which may be a service's "
    "own.\n";

void print_overview(std::ostream& out) {
    out << kIntro << "\nCommands:\n";
    std::size_t width = 0;
    const auto commands = all_commands();
    for (const auto& command : commands) width = std::max(width, joined_words(command).size());
    for (const auto& command : commands) {
        const auto words = joined_words(command);
        out << "  " << words << std::string(width - words.size() + 2, ' ') << command.summary << '\n';
    }
    out << "\nEach takes --help, --json and --by NAME. Exit codes: 0 done, 1 failed, 2 called wrongly.\n";
}

void print_help(std::ostream& out, const Command& command) {
    out << command.summary << "\n\nusage: " << usage_line(command) << "\n\n" << command.teaching << '\n';
    out << "\nOptions:\n";
    for (const auto* options : {&command.options, &common_options()}) {
        for (const auto& option : *options) {
            out << "  --" << option.name << (option.value.empty() ? "" : " " + option.value) << "\n      " << option.doc
                << '\n';
        }
    }
}

/// The command with the most words that `words` begins with.
std::optional<Command> find_command(const std::vector<std::string>& words) {
    std::optional<Command> found;
    for (auto& command : all_commands()) {
        const auto size = command.words.size();
        if (size > words.size() || !std::equal(command.words.begin(), command.words.end(), words.begin())) continue;
        if (!found || found->words.size() < size) found = std::move(command);
    }
    return found;
}

UsageError no_such_command(const std::vector<std::string>& words) {
    std::string near;
    for (const auto& command : all_commands()) {
        if (command.words.front() == words.front()) near += "\n  " + usage_line(command);
    }
    if (near.empty()) return UsageError("there is no command '" + words.front() + "'; `ftlctl --help` lists them");
    return UsageError("'" + words.front() + "' goes on in one of these ways:" + near);
}

int run_command(const Command& command, const ProgramSettings& settings, const Arguments& arguments,
                const std::string& who, std::istream& input, std::ostream& out) {
    Call call(settings, arguments, who, input);
    const int exit_code = command.run(call);
    if (arguments.has("json")) {
        call.report().print_json(out);
    } else {
        call.report().print_text(out);
    }
    return exit_code;
}

std::string who_calls(const Arguments& arguments, const std::map<std::string, std::string>& environment) {
    if (const auto by = arguments.find("by"); by && !by->empty()) return *by;
    const auto user = environment.find("USER");
    return user == environment.end() || user->second.empty() ? "unknown" : user->second;
}

int dispatch(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment,
             std::istream& input, std::ostream& out) {
    ProgramSettings settings;
    settings.common.postgres.application = "ftlctl";
    Settings known;
    settings.common.bind(known);
    settings.ingest.bind(known);
    settings.feeds.bind(known);
    settings.serve.bind_serve(known);
    const auto words = known.load(args, environment);
    ftlfeed::app::refuse_open_password(args, environment);
    if (const auto& file = settings.common.postgres_password_file; !file.empty()) {
        settings.common.postgres.password = ftlfeed::core::read_secret(file);
    }
    if (words.empty() || words.front() == "--help" || words.front() == "-h" || words.front() == "help") {
        print_overview(out);
        return words.empty() ? 2 : 0;
    }
    if (words.front() == "--version") {
        out << "ftlctl " << FTL_VERSION << '\n';
        return 0;
    }
    const auto command = find_command(words);
    if (!command) throw no_such_command(words);
    const auto arguments =
        parse_arguments(*command, {words.begin() + static_cast<std::ptrdiff_t>(command->words.size()), words.end()});
    if (arguments.has("help")) {
        print_help(out, *command);
        return 0;
    }
    return run_command(*command, settings, arguments, who_calls(arguments, environment), input, out);
}

}  // namespace

std::vector<Command> all_commands() {
    std::vector<Command> commands;
    for (const auto group :
         {status_commands, doctor_commands, migrate_commands, event_commands, client_commands, entitlement_commands,
          key_commands, destination_commands, feed_commands, outbox_commands, alert_commands}) {
        for (auto& command : group()) commands.push_back(std::move(command));
    }
    return commands;
}

int run_program(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment,
                std::istream& input, std::ostream& out, std::ostream& errors) {
    try {
        return dispatch(args, environment, input, out);
    } catch (const UsageError& error) {
        errors << "ftlctl: " << error.what() << '\n';
        return 2;
    } catch (const ftlfeed::core::InvalidInput& error) {
        errors << "ftlctl: " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        errors << "ftlctl: " << error.what() << '\n';
        return 1;
    }
}

}  // namespace ftlctl
