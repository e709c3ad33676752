#include "capture/stored_events.hpp"

#include <pqxx/result>
#include <pqxx/transaction_base>

#include <ftlfeed/capture/vocabulary.hpp>

#include "capture/sql_text.hpp"

namespace ftlfeed::capture {
namespace {

template <typename Number>
std::optional<Number> number_or_none(const pqxx::field& field) {
    return field.is_null() ? std::nullopt : std::optional(field.as<Number>());
}

std::optional<Side> side_or_none(const pqxx::field& field) {
    if (field.is_null()) return std::nullopt;
    return field.as<std::string>() == "home" ? Side::kHome : Side::kAway;
}

// Ended ones come too: an id that was withdrawn may come back.
constexpr const char* kEvents = R"(
    SELECT e.provider_event_id, e.id, encode(coalesce(r.content_hash, e.content_hash), 'hex'), e.may_bump,
           CASE WHEN r.id IS NULL THEN e.team_side ELSE r.team_side END,
           coalesce(r.type_id, e.type_id), CASE WHEN r.id IS NULL THEN e.minute ELSE r.minute END,
           t.provider_id, p.provider_id, coalesce(r.kind, '') = 'withdrawn', coalesce(a.answers, 0),
           coalesce(CASE WHEN r.id IS NULL THEN e.verdict ELSE r.verdict END, '')
    FROM match_events e
    LEFT JOIN LATERAL (SELECT * FROM match_event_revision WHERE match_event_id = e.id ORDER BY id DESC LIMIT 1) r ON true
    LEFT JOIN participant t ON t.id = CASE WHEN r.id IS NULL THEN e.participant_id ELSE r.participant_id END
    LEFT JOIN player p ON p.id = CASE WHEN r.id IS NULL THEN e.player_id ELSE r.player_id END
    LEFT JOIN match_event_absence a ON a.match_event_id = e.id
    WHERE e.provider = $1 AND e.fixture_id = $2)";

constexpr const char* kReissues = R"(
    SELECT e.provider_event_id, i.provider_event_id, i.standing = 'confirmed'
    FROM match_events e JOIN match_event_reissue i ON i.match_event_id = e.id
    WHERE e.provider = $1 AND e.fixture_id = $2 AND i.standing <> 'parted' ORDER BY i.id)";

}  // namespace

void StoredEvents::load(std::int64_t fixture_id) {
    for (const auto& row : tx_.exec_params(kEvents, provider_, fixture_id)) {
        const auto id = row[0].as<std::int64_t>();
        StoredEvent event{row[1].as<std::int64_t>(), row[2].as<std::string>(), row[3].as<bool>(), {}};
        auto& happening = event.happening;
        happening.id = id;
        happening.side = side_or_none(row[4]);
        happening.type_id = row[5].as<std::int32_t>();
        happening.minute = number_or_none<std::int32_t>(row[6]);
        happening.participant_id = number_or_none<std::int64_t>(row[7]);
        happening.player_id = number_or_none<std::int64_t>(row[8]);
        happening.is_withdrawn = row[9].as<bool>();
        happening.absences = row[10].as<std::int32_t>();
        happening.verdict = parse_verdict(row[11].as<std::string>());
        events_.emplace(id, std::move(event));
    }
    for (const auto& row : tx_.exec_params(kReissues, provider_, fixture_id)) {
        events_.at(row[0].as<std::int64_t>())
            .happening.reissues.push_back({row[1].as<std::int64_t>(), row[2].as<bool>()});
    }
}

const StoredEvent* StoredEvents::find(std::int64_t provider_event_id) const {
    const auto found = events_.find(provider_event_id);
    return found == events_.end() ? nullptr : &found->second;
}

std::vector<Happening> StoredEvents::happenings() const {
    std::vector<Happening> happenings;
    for (const auto& [id, event] : events_) happenings.push_back(event.happening);
    return happenings;
}

TeamSides StoredEvents::sides() const {
    TeamSides sides;
    for (const auto& [id, event] : events_) {
        if (event.happening.side) sides[id] = *event.happening.side;
    }
    return sides;
}

void StoredEvents::keep(const Findings& findings, std::int64_t ticket) {
    for (const auto& link : findings.linked) {
        tx_.exec_params(
            "INSERT INTO match_event_reissue (match_event_id, provider_event_id, ticket) VALUES ($1, $2, $3)",
            events_.at(link.happening).match_event_id, link.id, ticket);
    }
    settle(findings.confirmed, "confirmed");
    settle(findings.parted, "parted");
    std::vector<std::int64_t> ended;
    for (const auto& [happening, answers] : findings.absences) {
        const auto& event = events_.at(happening);
        if (answers == 0) {
            ended.push_back(event.match_event_id);
            continue;
        }
        tx_.exec_params(
            "INSERT INTO match_event_absence (match_event_id, answers) VALUES ($1, $2) "
            "ON CONFLICT (match_event_id) DO UPDATE SET answers = excluded.answers",
            event.match_event_id, answers);
    }
    if (ended.empty()) return;
    tx_.exec_params("DELETE FROM match_event_absence WHERE match_event_id = ANY($1::bigint[])", bigint_array(ended));
}

void StoredEvents::settle(const std::vector<Reissue>& reissues, const char* standing) {
    for (const auto& link : reissues) {
        tx_.exec_params(
            "UPDATE match_event_reissue SET standing = $3, settled_at = clock_timestamp() "
            "WHERE match_event_id = $1 AND provider_event_id = $2",
            events_.at(link.happening).match_event_id, link.id, standing);
    }
}

}  // namespace ftlfeed::capture
