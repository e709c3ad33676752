#include "cache/greeting.hpp"

#include <charconv>
#include <string_view>
#include <utility>

#include <ftlfeed/core/text.hpp>

namespace ftlfeed::cache {

namespace {

Command auth_of(const ConnectionSettings& settings) {
    const auto& password = settings.password.reveal();
    if (settings.user.empty()) return Command::reading({"AUTH", password});
    return Command::reading({"AUTH", settings.user, password});
}

/// The first that can set several fields of a hash at once.
constexpr int kVersionMin = 4;

bool says(const core::Failure& failure, std::string_view words) {
    return std::string_view(failure.what()).find(words) != std::string_view::npos;
}

/// Redis may repeat the words of a command that it does not know, so its message never passes: only its first word does.
core::Failure auth_failure(const core::Failure& failure) {
    const auto& code = failure.native_code();
    const bool wants_none = says(failure, "without any password configured") || says(failure, "no password is set");
    const auto message = wants_none ? std::string("it wants no password, and one was given")
                                    : "user or password refused" + (code.empty() ? "" : " (" + code + ")");
    return core::Failure::permanent(message).with_native_code(code);
}

/// A line of INFO; empty when it is not there.
std::string line_of(const Reply& info, std::string_view name) {
    const auto at = info.text.find(name);
    if (at == std::string::npos) return "";
    const auto begin = at + name.size();
    return info.text.substr(begin, info.text.find_first_of("\r\n", begin) - begin);
}

/// Why this version is of no use; a server that does not tell its version is taken as it is.
std::optional<core::Failure> version_failure(const std::string& version) {
    int major = kVersionMin;
    std::from_chars(version.data(), version.data() + version.size(), major);
    if (major >= kVersionMin) return std::nullopt;
    return core::Failure::permanent("it is version " + core::shorten(version, 20) + "; " + std::to_string(kVersionMin) +
                                    ".0 or newer is needed");
}

}  // namespace

Greeting::Greeting(const ConnectionSettings& settings) {
    const auto say = [this](Step step, Command command) {
        steps_.push_back(step);
        commands_.push_back(std::move(command));
    };
    if (!settings.password.is_empty()) say(Step::kAuth, auth_of(settings));
    if (settings.database != 0) say(Step::kSelect, Command::reading({"SELECT", std::to_string(settings.database)}));
    say(Step::kName, Command::reading({"CLIENT", "SETNAME", settings.name}));
    say(Step::kInfo, Command::reading({"INFO", "server"}));
}

std::vector<Command> Greeting::take_commands() { return std::exchange(commands_, {}); }

std::optional<core::Failure> Greeting::take(const ReplyResult& result) {
    const auto step = steps_.at(answered_++);
    const auto* failure = std::get_if<core::Failure>(&result);
    if (failure == nullptr) return step == Step::kInfo ? take_info(std::get<Reply>(result)) : std::nullopt;
    // A server that does not want to be told a name, or to tell its own, can still be worked with.
    if (step == Step::kName) return std::nullopt;
    if (step == Step::kInfo && (failure->native_code() == "NOPERM" || says(*failure, "unknown command"))) {
        run_id_ = "";
        return std::nullopt;
    }
    return step == Step::kAuth ? auth_failure(*failure) : *failure;
}

std::optional<core::Failure> Greeting::take_info(const Reply& info) {
    if (auto failure = version_failure(line_of(info, "redis_version:"))) return failure;
    run_id_ = line_of(info, "run_id:");
    return std::nullopt;
}

}  // namespace ftlfeed::cache
