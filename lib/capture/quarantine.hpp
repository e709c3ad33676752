#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ftlfeed/store/fwd.hpp>

namespace ftlfeed::capture {

/// A payload that could not be stored.
struct Refusal {
    std::optional<std::int64_t> fixture_id;  ///< The provider's.
    std::optional<std::int64_t> event_id;    ///< The provider's.
    std::string payload;                     ///< Any bytes.
    std::string reason;
};

/// Does an SQLSTATE say that Postgres refuses the data itself (too long, wrong type, no text), not the moment?
[[nodiscard]] bool is_refused_payload(const std::string& sqlstate);

/// Keeps payloads that could not be stored, once each by their hash, and raises one alert for each fixture.
class Quarantine {
public:
    Quarantine(pqxx::transaction_base& tx, std::string provider) : tx_(tx), provider_(std::move(provider)) {}

    /// Returns true when it is new; else its last_seen_at moves.
    bool keep(const Refusal& refusal);
    /// Those of the payloads (their SHA-256 as hex) that lie here already.
    [[nodiscard]] std::set<std::string> known(const std::vector<std::string>& payload_hashes);
    /// The fixture is whole again: its alert ends.
    void release(std::int64_t fixture_id);

private:
    pqxx::transaction_base& tx_;
    std::string provider_;
};

}  // namespace ftlfeed::capture
