#include "common/common_settings.hpp"

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::app {

using core::InvalidInput;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLimitMax{3'600'000};
constexpr std::int64_t kShutdownSecondsMax = 3600;

core::LogLevel level_from(const std::string& name) {
    if (name == "debug") return core::LogLevel::kDebug;
    if (name == "info") return core::LogLevel::kInfo;
    if (name == "warning") return core::LogLevel::kWarning;
    if (name == "error") return core::LogLevel::kError;
    throw InvalidInput("log.level is " + core::json_quoted(name) + "; it may be debug, info, warning or error");
}

core::LogSettings::Form form_from(const std::string& name) {
    if (name == "auto") return core::LogSettings::Form::kAuto;
    if (name == "text") return core::LogSettings::Form::kText;
    if (name == "json") return core::LogSettings::Form::kJson;
    throw InvalidInput("log.form is " + core::json_quoted(name) + "; it may be auto, text or json");
}

}  // namespace

void CommonSettings::bind(core::Settings& settings) {
    constexpr milliseconds kOne{1};
    settings.bind("postgres.uri", postgres.uri,
                  "The primary, directly: postgresql://USER@HOST:PORT/DATABASE or a libpq keyword string");
    settings.bind("postgres.password_file", postgres_password_file,
                  "File with the password, or credential:NAME for systemd's; empty = as the URI says");
    settings.bind("postgres.connect_timeout_ms", postgres.connect_timeout,
                  "Limit of one connection attempt (libpq: whole seconds, 2 at least)", kOne, kLimitMax);
    settings.bind("postgres.statement_timeout_ms", postgres.statement_timeout, "The server ends a statement after it",
                  kOne, kLimitMax);
    settings.bind("postgres.lock_timeout_ms", postgres.lock_timeout, "The server ends a wait for a lock after it", kOne,
                  kLimitMax);
    settings.bind("postgres.idle_in_transaction_timeout_ms", postgres.idle_in_transaction_timeout,
                  "The server ends a session that idles in a transaction", kOne, kLimitMax);
    settings.bind("postgres.work_limit_ms", postgres.work_limit,
                  "Limit of a whole unit of work; the connection is shut down after it", kOne, kLimitMax);
    settings.bind("log.level", log_level, "debug, info, warning or error; re-read at SIGHUP");
    settings.bind("log.form", log_form, "auto, text or json; auto = text on a terminal; re-read at SIGHUP");
    settings.bind("ops.address", ops_address, "IP:PORT for /healthz, /readyz and /metrics; empty = off, port 0 = any");
    settings.bind("ops.port_file", ops_port_file, "Where to write the port that was taken; empty = nowhere");
    settings.bind("service.shutdown_seconds", shutdown_seconds, "Limit of the drain after SIGTERM", 1,
                  kShutdownSecondsMax);
}

void CommonSettings::complete() {
    if (postgres.uri.empty()) {
        throw InvalidInput(
            "postgres.uri is not set; give --postgres.uri postgresql://USER@HOST:PORT/DATABASE, FTL_POSTGRES_URI, or "
            "uri "
            "in section [postgres] of --config FILE");
    }
    static_cast<void>(store::has_password(postgres.uri));  // Refuses what cannot be read.
    if (!postgres_password_file.empty()) postgres.password = core::read_secret(postgres_password_file);
    static_cast<void>(log(""));
}

core::LogSettings CommonSettings::log(const std::string& program) const {
    return {level_from(log_level), form_from(log_form), program};
}

void refuse_open_password(const std::vector<std::string>& args, const std::map<std::string, std::string>& environment) {
    const auto refuse = [](const std::string& origin) {
        return InvalidInput(origin + " holds a password; put it into the file of postgres.password_file");
    };
    const auto variable = environment.find("FTL_POSTGRES_URI");
    if (variable != environment.end() && store::has_password(variable->second))
        throw refuse("variable FTL_POSTGRES_URI");
    const std::string flag = "--postgres.uri";
    for (std::size_t i = 0; i < args.size(); ++i) {
        const bool has_value_after = args[i] == flag && i + 1 < args.size();
        if (has_value_after && store::has_password(args[i + 1])) throw refuse("flag " + flag);
        if (args[i].starts_with(flag + '=') && store::has_password(args[i].substr(flag.size() + 1))) {
            throw refuse("flag " + flag);
        }
    }
}

}  // namespace ftlfeed::app
