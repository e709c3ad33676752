#include <ftlfeed/core/log.hpp>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::core {

namespace {

struct Backend {
    LogSettings settings;
    bool is_json = false;
    std::unique_ptr<spdlog::logger> logger;
};

/// Replaced whole by configure_log(); a thread that still writes through the old one keeps it alive.
std::atomic<std::shared_ptr<const Backend>>& backend() {
    static auto* current = new std::atomic<std::shared_ptr<const Backend>>;
    return *current;
}

const char* level_name(LogLevel level) {
    switch (level) {
        case LogLevel::kDebug:
            return "debug";
        case LogLevel::kInfo:
            return "info";
        case LogLevel::kWarning:
            return "warning";
        case LogLevel::kError:
            return "error";
    }
    return "error";
}

bool is_plain(std::string_view value) {
    return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_.:/@+-%~").find(c) != std::string_view::npos;
    });
}

std::string as_text(std::string_view value) { return is_plain(value) ? std::string(value) : json_quoted(value); }

std::string text_line(const Backend& to, LogLevel level, std::string_view event, const std::vector<LogField>& fields) {
    auto line = fmt::format("{} {:7} {}", iso_time(Clock::real().system_now()), level_name(level), as_text(event));
    if (!to.settings.program.empty()) line += " program=" + as_text(to.settings.program);
    for (const auto& field : fields) line += ' ' + as_text(field.name) + '=' + as_text(field.value);
    return line;
}

std::string json_line(const Backend& to, LogLevel level, std::string_view event, const std::vector<LogField>& fields) {
    auto line = fmt::format(R"({{"time":"{}","level":"{}")", iso_time(Clock::real().system_now()), level_name(level));
    if (!to.settings.program.empty()) line += ",\"program\":" + json_quoted(to.settings.program);
    line += ",\"event\":" + json_quoted(event);
    for (const auto& field : fields) {
        line += ',' + json_quoted(field.name) + ':' + (field.is_number ? field.value : json_quoted(field.value));
    }
    return line + '}';
}

}  // namespace

// JSON has no word for "not a number": such a value is written as text.
LogField::LogField(std::string name_in, double value_in)
    : name(std::move(name_in)), value(fmt::format("{}", value_in)), is_number(std::isfinite(value_in)) {}

void log(LogLevel level, std::string_view event, const std::vector<LogField>& fields) {
    const auto to = backend().load();
    if (!to || level < to->settings.level) return;
    const auto line = to->is_json ? json_line(*to, level, event, fields) : text_line(*to, level, event, fields);
    to->logger->log(spdlog::level::critical, line);  // Our own level was judged above.
}

void configure_log(const LogSettings& settings) {
    auto next = std::make_shared<Backend>();
    next->settings = settings;
    next->is_json = settings.form == LogSettings::Form::kJson ||
                    (settings.form == LogSettings::Form::kAuto && isatty(STDERR_FILENO) == 0);
    next->logger = std::make_unique<spdlog::logger>("ftl", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    next->logger->set_pattern("%v");
    next->logger->flush_on(spdlog::level::trace);
    backend().store(std::move(next));
}

}  // namespace ftlfeed::core
