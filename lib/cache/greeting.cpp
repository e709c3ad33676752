#include "cache/greeting.hpp"

#include <string_view>
#include <utility>

namespace ftlfeed::cache {

namespace {

Command auth_of(const ConnectionSettings& settings) {
    const auto& password = settings.password.reveal();
    if (settings.user.empty()) return Command::reading({"AUTH", password});
    return Command::reading({"AUTH", settings.user, password});
}

/// Redis may repeat the words of a command that it does not know, so its message never passes: only its first word does.
core::Failure auth_failure(const core::Failure& failure) {
    const auto& code = failure.native_code();
    const auto message = "user or password refused" + (code.empty() ? "" : " (" + code + ")");
    return core::Failure::permanent(message).with_native_code(code);
}

std::string run_id_of(const Reply& info) {
    constexpr std::string_view kKey = "run_id:";
    const auto at = info.text.find(kKey);
    if (at == std::string::npos) return "";
    const auto begin = at + kKey.size();
    return info.text.substr(begin, info.text.find_first_of("\r\n", begin) - begin);
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
    if (failure == nullptr) {
        if (step == Step::kInfo) run_id_ = run_id_of(std::get<Reply>(result));
        return std::nullopt;
    }
    // A server that does not want to be told a name, or to tell its own, can still be worked with.
    if (step == Step::kName) return std::nullopt;
    if (step == Step::kInfo && failure->native_code() == "NOPERM") {
        run_id_ = "";
        return std::nullopt;
    }
    return step == Step::kAuth ? auth_failure(*failure) : *failure;
}

}  // namespace ftlfeed::cache
