#include <ftlctl/arguments.hpp>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

#include <ftlfeed/core/feed_key.hpp>

namespace ftlctl {

namespace {

bool is_number(const std::string& text) {
    return text.size() > 1 && text[0] == '-' && std::isdigit(static_cast<unsigned char>(text[1])) != 0;
}

bool may_be_left_out(const std::string& operand) { return operand.starts_with('['); }

const Option* find_option(const Command& command, const std::string& name) {
    const auto has_name = [&](const Option& option) { return option.name == name; };
    if (const auto own = std::ranges::find_if(command.options, has_name); own != command.options.end()) return &*own;
    const auto common = std::ranges::find_if(common_options(), has_name);
    return common == common_options().end() ? nullptr : &*common;
}

UsageError wrong(const Command& command, const std::string& what) {
    return UsageError(what + "\nusage: " + usage_line(command) + "\nmore:  ftlctl " + joined_words(command) +
                      " --help");
}

void check_operands(const Command& command, const Arguments& arguments) {
    if (arguments.operands.size() > command.operands.size()) {
        throw wrong(command, "'" + arguments.operands[command.operands.size()] + "' is one word too many");
    }
    for (auto place = arguments.operands.size(); place < command.operands.size(); ++place) {
        if (!may_be_left_out(command.operands[place])) throw wrong(command, command.operands[place] + " is missing");
    }
}

void check_required(const Command& command, const Arguments& arguments) {
    for (const auto& option : command.options) {
        if (option.is_required && !arguments.has(option.name)) throw wrong(command, "--" + option.name + " is missing");
    }
}

}  // namespace

std::optional<std::string> Arguments::find(const std::string& name) const {
    const auto found = options.find(name);
    if (found == options.end()) return std::nullopt;
    return found->second;
}

Arguments parse_arguments(const Command& command, const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t place = 0; place < words.size(); ++place) {
        const auto& word = words[place];
        if (!word.starts_with('-') || word == "-" || is_number(word)) {
            arguments.operands.push_back(word);
            continue;
        }
        const auto equals = word.find('=');
        const auto name =
            word.starts_with("--") ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : "";
        const auto* option = find_option(command, name);
        if (option == nullptr) throw wrong(command, "'" + word + "' is not an option of this command");
        if (arguments.has(name)) throw wrong(command, "--" + name + " stands there twice");
        if (option->value.empty()) {
            if (equals != std::string::npos) throw wrong(command, "--" + name + " takes no value");
            arguments.options[name] = "";
        } else if (equals != std::string::npos) {
            arguments.options[name] = word.substr(equals + 1);
        } else if (++place < words.size()) {
            arguments.options[name] = words[place];
        } else {
            throw wrong(command, "--" + name + " needs a value: " + option->value);
        }
    }
    if (arguments.has("help")) return arguments;
    check_operands(command, arguments);
    check_required(command, arguments);
    return arguments;
}

std::int64_t parse_number(const std::string& what, const std::string& text) {
    std::int64_t number = 0;
    const auto* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end || text.empty()) {
        throw UsageError(what + " is '" + text + "'; it has to be a whole number");
    }
    return number;
}

const std::string& parse_name(const std::string& what, const std::string& text) {
    if (ftlfeed::core::FeedKey::is_valid_part(text)) return text;
    throw UsageError(what + " is '" + text + "'; it may hold a-z, 0-9, '-' and '_', 1 to 100 of them");
}

std::vector<std::string> parse_names(const std::string& what, const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t from = 0; from < text.size();) {
        const auto comma = std::min(text.find(',', from), text.size());
        if (comma > from) names.push_back(parse_name("a name in " + what, text.substr(from, comma - from)));
        from = comma + 1;
    }
    if (names.empty()) throw UsageError(what + " names nothing; it has to be names separated by commas");
    return names;
}

const std::vector<Option>& common_options() {
    static const std::vector<Option> kOptions{
        {"json", "", "print one JSON object instead of text"},
        {"by", "NAME", "who does this, for the audit log (default: $USER)"},
        {"help", "", "say what this command does"},
    };
    return kOptions;
}

std::string joined_words(const Command& command) {
    std::string line;
    for (const auto& word : command.words) line += (line.empty() ? "" : " ") + word;
    return line;
}

std::string usage_line(const Command& command) {
    auto line = "ftlctl " + joined_words(command);
    for (const auto& operand : command.operands) line += " " + operand;
    for (const auto& option : command.options) {
        const auto text = "--" + option.name + (option.value.empty() ? "" : " " + option.value);
        line += option.is_required ? " " + text : " [" + text + "]";
    }
    return line;
}

}  // namespace ftlctl
