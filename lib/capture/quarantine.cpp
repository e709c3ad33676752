#include "capture/quarantine.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/alert/alert.hpp>
#include <ftlfeed/core/hash.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/store/value.hpp>

namespace ftlfeed::capture {
namespace {

constexpr std::size_t kReasonBytesMax = 500;
constexpr const char* kAlertKind = "capture.quarantine";

std::string printable(const std::string& reason) {
    // What Postgres says may quote the very bytes that it refuses.
    return core::is_utf8(reason) && reason.find('\0') == std::string::npos ? core::shorten(reason, kReasonBytesMax)
                                                                           : "the payload is no text";
}

std::string id_text(const std::optional<std::int64_t>& id) { return id ? std::to_string(*id) : "unknown"; }

}  // namespace

bool is_refused_payload(const std::string& sqlstate) {
    // 22: data exception. 54: a limit of the program exceeded (a text over 1 GB, a number of too many digits).
    return sqlstate.starts_with("22") || sqlstate.starts_with("54");
}

bool Quarantine::keep(const Refusal& refusal) {
    const auto hash = core::sha256(refusal.payload);
    const auto reason = printable(refusal.reason);
    const auto rows = tx_.exec_params(
        R"(INSERT INTO event_quarantine (provider, provider_fixture_id, provider_event_id, payload, payload_hash, reason)
           VALUES ($1, nullif($2, '')::bigint, nullif($3, '')::bigint, $4::bytea, $5::bytea, $6)
           ON CONFLICT (payload_hash) DO UPDATE SET last_seen_at = clock_timestamp()
           RETURNING xmax = 0)",
        provider_, refusal.fixture_id ? std::to_string(*refusal.fixture_id) : "",
        refusal.event_id ? std::to_string(*refusal.event_id) : "", store::bytea(refusal.payload), store::bytea(hash),
        reason);
    if (!rows[0][0].as<bool>()) return false;
    alert::raise(tx_, {kAlertKind, provider_ + "/" + id_text(refusal.fixture_id), alert::Severity::kWarning,
                       "event " + id_text(refusal.event_id) + " is in quarantine: " + reason});
    return true;
}

std::set<std::string> Quarantine::known(const std::vector<std::string>& payload_hashes) {
    std::set<std::string> found;
    if (payload_hashes.empty()) return found;
    const auto rows = tx_.exec_params(
        R"(SELECT w.hash FROM unnest($1::text[]) AS w(hash)
           CROSS JOIN LATERAL (SELECT id FROM event_quarantine WHERE payload_hash = decode(w.hash, 'hex') LIMIT 1) q)",
        store::text_array(payload_hashes));
    for (const auto& row : rows) found.insert(row[0].as<std::string>());
    return found;
}

void Quarantine::release(std::int64_t fixture_id) {
    alert::clear(tx_, kAlertKind, provider_ + "/" + std::to_string(fixture_id));
}

}  // namespace ftlfeed::capture
