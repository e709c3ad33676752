#include <ftlctl/destination_settings.hpp>

#include <algorithm>
#include <array>

#include <ftlfeed/cache/keys.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/deliver/name_template.hpp>
#include <ftlfeed/deliver/webhook_url.hpp>
#include <ftlfeed/store/value.hpp>

#include <ftlctl/arguments.hpp>

namespace ftlctl {

namespace {

enum class Kind { kText, kFolder, kKeyPrefix, kTemplate, kNames, kOnRetire, kNumber };

/// One option for four columns.
constexpr auto kUrlOption = "url";

struct Setting {
    const char* option;
    const char* column;
    Kind kind;
    const char* value;
    const char* doc;
    std::int64_t min = 0;
    std::int64_t max = 0;
};

constexpr std::int64_t kDayMs = 86'400'000;

constexpr std::array kSettings{
    Setting{"folder", "folder", Kind::kFolder, "PATH", "where files go; absolute for a directory"},
    Setting{"host", "host", Kind::kText, "NAME", "the receiver's host"},
    Setting{"port", "port", Kind::kNumber, "N", "the receiver's port", 1, 65'535},
    Setting{"database-number", "database_number", Kind::kNumber, "N", "the database of a Redis (default: 0)", 0,
            65'535},
    Setting{"key-prefix", "folder", Kind::kKeyPrefix, "TEXT", "what the keys in a Redis begin with (default: feed:d:)"},
    Setting{"name-template", "name_template", Kind::kTemplate, "T",
            "a file's path from {event}, {feed_type}, {filter} and {/filter} (default: "
            "{event}/{feed_type}{/filter}.json)"},
    Setting{"events", "events", Kind::kNames, "A,B", "only files of these events; 'all' for every one"},
    Setting{"feed-types", "feed_types", Kind::kNames, "A,B", "only these feeds; 'all' for every one"},
    Setting{"on-retire", "on_retire", Kind::kOnRetire, "keep|delete", "what becomes of a file that has ended"},
    Setting{"connect-ms", "connect_ms", Kind::kNumber, "MS", "limit for connecting, DNS included", 1, kDayMs},
    Setting{"bytes-ms", "bytes_ms", Kind::kNumber, "MS", "limit for sending the bytes", 1, kDayMs},
    Setting{"reply-ms", "reply_ms", Kind::kNumber, "MS", "limit for the answer after the last byte", 1, kDayMs},
    Setting{"bytes-per-second-min", "bytes_per_second_min", Kind::kNumber, "N", "a slower send is broken off", 0,
            1'000'000'000},
    Setting{"fast-retries-max", "fast_retries_max", Kind::kNumber, "N", "quick tries before the slow pace", 0, 16},
    Setting{"first-retry-ms", "first_retry_ms", Kind::kNumber, "MS", "ceiling of the first wait", 1, kDayMs},
    Setting{"slow-retry-ms", "slow_retry_ms", Kind::kNumber, "MS", "the slow pace", 1, kDayMs},
    Setting{"alert-failures", "alert_failures", Kind::kNumber, "N", "alert after so many failures in a row", 1, 1'000},
    Setting{"alert-behind-ms", "alert_behind_ms", Kind::kNumber, "MS", "alert when a change waits longer", 1, kDayMs},
};

UsageError wrong(const Setting& setting, const std::string& text, const std::string& rule) {
    return UsageError("--" + std::string(setting.option) + " is '" + text + "'; " + rule);
}

std::string checked_number(const Setting& setting, const std::string& text) {
    const auto number = parse_number("--" + std::string(setting.option), text);
    if (number < setting.min || number > setting.max) {
        throw wrong(setting, text,
                    "it has to be " + std::to_string(setting.min) + " to " + std::to_string(setting.max));
    }
    return text;
}

void check_template(const Setting& setting, const std::string& text) {
    try {
        const ftlfeed::deliver::NameTemplate checked(text);
    } catch (const ftlfeed::core::InvalidInput& error) {
        throw wrong(setting, text, error.what());
    }
}

void check_key_prefix(const Setting& setting, const std::string& text) {
    try {
        const ftlfeed::cache::Key checked(text);
    } catch (const ftlfeed::core::InvalidInput& error) {
        throw wrong(setting, text, error.what());
    }
}

SettingChange names_change(const Setting& setting, const std::string& text) {
    if (text == "all") return {setting.column, "text[]", "", true};
    const auto names = parse_names("--" + std::string(setting.option), text);
    return {setting.column, "text[]", ftlfeed::store::text_array(names)};
}

SettingChange change_of(const Setting& setting, const std::string& text) {
    switch (setting.kind) {
        case Kind::kNumber:
            return {setting.column, "integer", checked_number(setting, text)};
        case Kind::kNames:
            return names_change(setting, text);
        case Kind::kFolder:
            if (!text.starts_with('/')) throw wrong(setting, text, "it has to be an absolute path");
            break;
        case Kind::kKeyPrefix:
            check_key_prefix(setting, text);
            break;
        case Kind::kTemplate:
            check_template(setting, text);
            break;
        case Kind::kOnRetire:
            if (text != "keep" && text != "delete") throw wrong(setting, text, "it has to be keep or delete");
            break;
        case Kind::kText:
            if (text.empty()) throw wrong(setting, text, "it may not be empty");
            break;
    }
    return {setting.column, "text", ftlfeed::store::checked(text)};
}

std::vector<SettingChange> url_changes(const std::string& text) {
    try {
        const auto url = ftlfeed::deliver::WebhookUrl::parse(text);
        return {{"url_scheme", "text", url.scheme},
                {"host", "text", url.host},
                {"port", "integer", url.port ? std::to_string(*url.port) : "", !url.port},
                {"url_path", "text", url.path}};
    } catch (const ftlfeed::core::InvalidInput& error) {
        throw UsageError("--url: " + std::string(error.what()));
    }
}

}  // namespace

std::vector<Option> destination_options() {
    std::vector<Option> options{{kUrlOption, "URL", "a webhook's URL, https://… or http://…"}};
    for (const auto& setting : kSettings) options.push_back({setting.option, setting.value, setting.doc});
    return options;
}

std::vector<SettingChange> destination_changes(Call& call) {
    std::vector<SettingChange> changes;
    if (const auto url = call.option(kUrlOption)) changes = url_changes(*url);
    for (const auto& setting : kSettings) {
        const auto text = call.option(setting.option);
        if (text) changes.push_back(change_of(setting, *text));
    }
    return changes;
}

}  // namespace ftlctl
