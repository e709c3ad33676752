#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ftlfeed/store/session.hpp>

namespace ftlfeed::alert {

enum class Severity { kInfo, kWarning, kCritical };
/// As in the table: info, warning, critical.
[[nodiscard]] const char* severity_name(Severity severity);
/// Throws core::InvalidInput.
[[nodiscard]] Severity severity_from(const std::string& name);

/// A trouble that a person should know of. (kind, subject) is its identity: kind is a dotted constant
/// ("deliver.failing"), subject names the thing ("client/name"). The message may change; it never holds a secret.
struct Alert {
    std::string kind;
    std::string subject;
    Severity severity = Severity::kWarning;
    std::string message;
};

/// Raised once: while it is open, further raises only move its count and last_seen_at. Takes effect with the
/// transaction. Returns true when it is new.
bool raise(pqxx::transaction_base& tx, const Alert& alert);
/// Ends it once. Returns true when it was open.
bool clear(pqxx::transaction_base& tx, const std::string& kind, const std::string& subject);

struct OpenAlert : Alert {
    std::int64_t id = 0;
    std::string raised_at;
    std::string last_seen_at;
    std::int64_t times = 0;
};
[[nodiscard]] std::vector<OpenAlert> open_alerts(store::Session& session);

}  // namespace ftlfeed::alert
