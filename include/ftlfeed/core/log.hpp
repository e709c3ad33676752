#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ftlfeed::core {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// One member of a log event. Never put a secret in one.
struct LogField {
    std::string name;
    std::string value;
    bool is_number = false;

    LogField(std::string name_in, std::string value_in) : name(std::move(name_in)), value(std::move(value_in)) {}
    LogField(std::string name_in, const char* value_in) : name(std::move(name_in)), value(value_in) {}
    LogField(std::string name_in, std::integral auto value_in)
        : name(std::move(name_in)), value(std::to_string(value_in)), is_number(true) {}
    LogField(std::string name_in, double value_in);
};

/// Writes one event as one line: `time level event name=value …` on a terminal, JSON otherwise. `event` is a dotted
/// constant
/// ("store.connected"). Control characters are escaped, so a foreign text cannot start a line of its own.
/// Threads: thread-safe. Silent until configure_log() was called: the library never prints by itself.
void log(LogLevel level, std::string_view event, const std::vector<LogField>& fields = {});
inline void log_info(std::string_view event, const std::vector<LogField>& fields = {}) {
    log(LogLevel::kInfo, event, fields);
}
inline void log_warning(std::string_view event, const std::vector<LogField>& fields = {}) {
    log(LogLevel::kWarning, event, fields);
}
inline void log_error(std::string_view event, const std::vector<LogField>& fields = {}) {
    log(LogLevel::kError, event, fields);
}
inline void log_debug(std::string_view event, const std::vector<LogField>& fields = {}) {
    log(LogLevel::kDebug, event, fields);
}

struct LogSettings {
    LogLevel level = LogLevel::kInfo;
    enum class Form { kAuto, kText, kJson } form = Form::kAuto;  ///< kAuto: text when standard error is a terminal.
    std::string program;                                         ///< Shown in each line.
};
/// Sends events to standard error. May be called again (SIGHUP).
void configure_log(const LogSettings& settings);

}  // namespace ftlfeed::core
