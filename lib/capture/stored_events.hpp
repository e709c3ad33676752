#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ftlfeed/capture/score_keeper.hpp>
#include <ftlfeed/store/fwd.hpp>

#include "capture/happenings.hpp"

namespace ftlfeed::capture {

/// An event as it is stored, in its newest revision.
struct StoredEvent {
    std::int64_t match_event_id = 0;  ///< Our own.
    std::string content_hash;         ///< Hex.
    bool may_bump = false;
    Happening happening;
};

/// The stored events of one fixture, by the provider's id of each; and what an answer's comparison with them leaves
/// behind. Use it under the fixture's row lock.
class StoredEvents {
public:
    StoredEvents(pqxx::transaction_base& tx, const std::string& provider) : tx_(tx), provider_(provider) {}

    void load(std::int64_t fixture_id);
    [[nodiscard]] const StoredEvent* find(std::int64_t provider_event_id) const;
    [[nodiscard]] bool empty() const { return events_.empty(); }
    [[nodiscard]] std::vector<Happening> happenings() const;
    [[nodiscard]] TeamSides sides() const;

    /// Writes down links and absences, so that the next answer is judged by them.
    void keep(const Findings& findings, std::int64_t ticket);

private:
    void settle(const std::vector<Reissue>& reissues, const char* standing);

    pqxx::transaction_base& tx_;
    const std::string& provider_;
    std::map<std::int64_t, StoredEvent> events_;
};

}  // namespace ftlfeed::capture
