#include "store/connection.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <map>
#include <memory>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::store {

namespace {

/// A dead peer is noticed within about 25 s even while nobody sends; sent bytes must be acknowledged within 15 s.
constexpr int kKeepAliveIdleSeconds = 10;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveCount = 3;
constexpr int kTcpUserTimeoutMs = 15000;

struct FreeOptions {
    void operator()(PQconninfoOption* it) const { PQconninfoFree(it); }
};

std::map<std::string, std::string> parse_uri(const std::string& uri) {
    char* error = nullptr;
    const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconninfoParse(uri.c_str(), &error));
    PQfreemem(error);  // It repeats the text, password and all.
    if (!options) {
        throw core::InvalidInput(
            "the Postgres URI cannot be read; write postgresql://USER@HOST:PORT/DATABASE or \"host=… dbname=…\"");
    }
    std::map<std::string, std::string> values;
    for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr && *option->val != '\0') values[option->keyword] = option->val;
    }
    return values;
}

std::string quoted(const std::string& value) {
    std::string text = "'";
    for (const char c : value) {
        if (c == '\'' || c == '\\') text += '\\';
        text += c;
    }
    return text + '\'';
}

/// The server's own limits, given at the start so that they hold for every session, whoever uses it.
std::string session_options(const ConnectionSettings& settings) {
    return fmt::format(
        "-c statement_timeout={} -c lock_timeout={} -c idle_in_transaction_session_timeout={} -c TimeZone=UTC "
        "-c DateStyle=ISO -c IntervalStyle=postgres -c extra_float_digits=1 -c bytea_output=hex",
        settings.statement_timeout.count(), settings.lock_timeout.count(),
        settings.idle_in_transaction_timeout.count());
}

}  // namespace

bool has_password(const std::string& uri) { return parse_uri(uri).contains("password"); }

ConnectionText connection_text(const ConnectionSettings& settings) {
    auto values = parse_uri(settings.uri);
    auto& options = values["options"];
    options += (options.empty() ? "" : " ") + session_options(settings);
    if (!settings.password.is_empty()) values["password"] = settings.password.reveal();
    values["application_name"] = settings.application;
    values["client_encoding"] = "UTF8";
    // libpq counts in whole seconds, and takes less than 2 for 2.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(settings.connect_timeout).count();
    values["connect_timeout"] = std::to_string(std::max<std::int64_t>(2, seconds));
    values["keepalives"] = "1";
    values["keepalives_idle"] = std::to_string(kKeepAliveIdleSeconds);
    values["keepalives_interval"] = std::to_string(kKeepAliveIntervalSeconds);
    values["keepalives_count"] = std::to_string(kKeepAliveCount);
    values["tcp_user_timeout"] = std::to_string(kTcpUserTimeoutMs);

    ConnectionText made;
    for (const auto& [keyword, value] : values) made.text += keyword + '=' + quoted(value) + ' ';
    made.password = values["password"];
    return made;
}

std::string without_secrets(std::string message, const std::string& password) {
    if (!password.empty()) {
        for (auto at = message.find(password); at != std::string::npos; at = message.find(password, at + 3)) {
            message.replace(at, password.size(), "***");
        }
    }
    while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return message;
}

}  // namespace ftlfeed::store
