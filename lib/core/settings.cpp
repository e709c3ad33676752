#include <ftlfeed/core/settings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

#include "core/settings_file.hpp"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants the program to declare it.

namespace ftlfeed::core {

namespace {

constexpr std::string_view kVariablePrefix = "FTL_";
constexpr std::size_t kShownBytesMax = 100;
/// A foreign FTL_ variable this near to one of ours is taken for a slip of the pen.
constexpr std::size_t kSlipDistanceMax = 2;

std::string shown(std::string_view value) { return json_quoted(shorten(value, kShownBytesMax)); }

template <typename Number>
Number read_number(const std::string& value, Number min, Number max, const char* kind) {
    Number number{};
    const auto* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stop != end || value.empty()) throw InvalidInput(shown(value) + " is not " + kind);
    // Written so that "not a number" is refused as well.
    if (!(number >= min && number <= max)) {
        throw InvalidInput(fmt::format("{} is out of range; it may be {} to {}", value, min, max));
    }
    return number;
}

bool read_bool(const std::string& value) {
    if (value == "true" || value == "false") return value == "true";
    throw InvalidInput(shown(value) + " is neither true nor false");
}

std::vector<std::string> split_list(const std::string& value) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; !value.empty() && begin <= value.size();) {
        const auto end = std::min(value.find(',', begin), value.size());
        parts.push_back(value.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::string join_list(const std::vector<std::string>& values) { return fmt::format("{}", fmt::join(values, ",")); }

/// Levenshtein's distance: insertions, deletions and changes of one character.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        auto diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto changed = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
        }
    }
    return row[b.size()];
}

/// `FTL_SECTION_KEY` of `section.key`.
std::string variable_of(const std::string& key) {
    std::string name(kVariablePrefix);
    for (const char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

std::string section_of(const std::string& key) { return key.substr(0, key.find('.')); }

}  // namespace

void Settings::bind(std::string key, std::string& target, std::string doc) {
    entries_.push_back({std::move(key), std::move(doc), target, false, false,
                        [&target](const std::string& value) { target = value; }, nullptr});
}

void Settings::bind(std::string key, bool& target, std::string doc) {
    entries_.push_back({std::move(key), std::move(doc), target ? "true" : "false", false, true,
                        [&target](const std::string& value) { target = read_bool(value); }, nullptr});
}

void Settings::bind(std::string key, std::int64_t& target, std::string doc, std::int64_t min, std::int64_t max) {
    entries_.push_back(
        {std::move(key), std::move(doc), std::to_string(target), false, false,
         [&target, min, max](const std::string& value) { target = read_number(value, min, max, "a whole number"); },
         nullptr});
}

void Settings::bind(std::string key, double& target, std::string doc, double min, double max) {
    entries_.push_back(
        {std::move(key), std::move(doc), fmt::format("{}", target), false, false,
         [&target, min, max](const std::string& value) { target = read_number(value, min, max, "a number"); },
         nullptr});
}

void Settings::bind(std::string key, std::chrono::milliseconds& target, std::string doc, std::chrono::milliseconds min,
                    std::chrono::milliseconds max) {
    entries_.push_back({std::move(key), std::move(doc), std::to_string(target.count()), false, false,
                        [&target, min, max](const std::string& value) {
                            target = std::chrono::milliseconds(
                                read_number<std::int64_t>(value, min.count(), max.count(), "a whole number of ms"));
                        },
                        nullptr});
}

void Settings::bind(std::string key, std::vector<std::string>& target, std::string doc) {
    entries_.push_back({std::move(key), std::move(doc), join_list(target), true, false,
                        [&target](const std::string& value) { target = split_list(value); },
                        [&target](const std::vector<std::string>& values) { target = values; }});
}

Settings::Entry& Settings::find(const std::string& key, const std::string& origin) {
    FTL_ASSERT(!entries_.empty());
    for (auto& entry : entries_) {
        if (entry.key == key) return entry;
    }
    const auto nearest = std::min_element(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
        return edit_distance(a.key, key) < edit_distance(b.key, key);
    });
    throw InvalidInput(origin + ": there is no setting " + shown(key) + "; the nearest is " + nearest->key);
}

namespace {

/// Says where a wrong value stands.
template <typename Assign>
void assign_from(const std::string& origin, const std::string& key, const Assign& assign) {
    try {
        assign();
    } catch (const InvalidInput& error) {
        throw InvalidInput(origin + ": " + key + ": " + error.what());
    }
}

}  // namespace

void Settings::load_file(const std::string& path) {
    for (const auto& setting : read_settings_file(path)) {
        auto& entry = find(setting.key, setting.origin);
        if (setting.is_list != entry.takes_list) {
            throw InvalidInput(
                setting.origin + ": " + setting.key +
                (entry.takes_list ? " must be an array of strings" : " must be one value, not an array"));
        }
        assign_from(setting.origin, setting.key, [&] {
            if (setting.is_list) {
                entry.assign_list(setting.list);
            } else {
                entry.assign(setting.text);
            }
        });
    }
}

void Settings::load_environment(const std::map<std::string, std::string>& environment) {
    for (const auto& [name, value] : environment) {
        if (!name.starts_with(kVariablePrefix)) continue;
        const auto entry = std::find_if(entries_.begin(), entries_.end(),
                                        [&, &name = name](const Entry& it) { return variable_of(it.key) == name; });
        if (entry != entries_.end()) {
            assign_from("variable " + name, entry->key, [&, &value = value] { entry->assign(value); });
            continue;
        }
        // Other programs may use variables that begin alike; one in a section of ours, or nearly ours, is a mistake.
        for (const auto& known : entries_) {
            const bool in_section = name.starts_with(variable_of(section_of(known.key)) + '_');
            if (in_section || edit_distance(variable_of(known.key), name) <= kSlipDistanceMax) {
                throw InvalidInput("variable " + name + ": there is no such setting; the nearest is " +
                                   nearest_variable(name));
            }
        }
    }
}

std::string Settings::nearest_variable(const std::string& name) const {
    const auto nearest = std::min_element(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
        return edit_distance(variable_of(a.key), name) < edit_distance(variable_of(b.key), name);
    });
    return variable_of(nearest->key);
}

std::vector<std::string> Settings::load(const std::vector<std::string>& args,
                                        const std::map<std::string, std::string>& environment) {
    struct Flag {
        Entry* entry;
        std::string name;
        std::string value;
    };
    std::vector<Flag> flags;
    std::vector<std::string> files;
    std::vector<std::string> rest;
    // Flags are read first, to find the file, and take effect last.
    for (std::size_t i = 0; i < args.size(); ++i) {
        if (args[i] == "--") {
            rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
            break;
        }
        const auto equals = args[i].find('=');
        const auto name = args[i].substr(0, equals);
        const bool is_setting = name.starts_with("--") && name.find('.') != std::string::npos;
        if (!is_setting && name != "--config") {
            rest.push_back(args[i]);
            continue;
        }
        Entry* entry = is_setting ? &find(name.substr(2), name) : nullptr;
        std::optional<std::string> value;
        if (equals != std::string::npos) value = args[i].substr(equals + 1);
        const bool has_next = i + 1 < args.size();
        if (!value && entry != nullptr && entry->is_bool &&
            !(has_next && (args[i + 1] == "true" || args[i + 1] == "false"))) {
            value = "true";  // `--deliver.enabled` alone says what it means.
        }
        if (!value && has_next) value = args[++i];
        if (!value) throw InvalidInput(name + " wants a value");
        if (entry == nullptr) {
            files.push_back(*value);
        } else {
            flags.push_back({entry, name, *value});
        }
    }
    for (const auto& file : files) load_file(file);
    load_environment(environment);
    for (const auto& flag : flags)
        assign_from("flag " + flag.name, flag.entry->key, [&] { flag.entry->assign(flag.value); });
    return rest;
}

std::vector<Settings::Described> Settings::describe() const {
    std::vector<Described> all;
    all.reserve(entries_.size());
    for (const auto& entry : entries_)
        all.push_back({entry.key, entry.doc, entry.default_text, entry.takes_list, entry.is_bool});
    return all;
}

std::map<std::string, std::string> process_environment() {
    std::map<std::string, std::string> all;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        const auto equals = text.find('=');
        if (equals != std::string_view::npos) all.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return all;
}

}  // namespace ftlfeed::core
