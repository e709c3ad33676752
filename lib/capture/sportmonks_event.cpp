#include <algorithm>
#include <charconv>
#include <variant>

#include <ftlfeed/capture/vocabulary.hpp>

#include "capture/json_read.hpp"
#include "capture/sportmonks_fixture.hpp"

namespace ftlfeed::capture {
namespace {

/// "1-0". Anything else is no result that we could use; the raw row keeps it.
std::optional<Score> read_result(const rapidjson::Value& row) {
    const auto text = read_text(row, "result");
    if (!text) return std::nullopt;
    Score score;
    const auto* end = text->data() + text->size();
    const auto home = std::from_chars(text->data(), end, score.home);
    if (home.ec != std::errc{} || home.ptr == end || *home.ptr != '-') return std::nullopt;
    const auto away = std::from_chars(home.ptr + 1, end, score.away);
    if (away.ec != std::errc{} || away.ptr != end || score.home < 0 || score.away < 0) return std::nullopt;
    return score;
}

std::optional<NamedRef> read_person(const rapidjson::Value& row, const char* id_key, const char* name_key) {
    auto name = read_text(row, name_key);
    const auto id = read_integer(row, id_key);
    if (!id) return std::nullopt;
    return NamedRef{*id, std::move(name).value_or("")};
}

/// The forms stand in texts, whose list grows without notice; an unknown one says nothing.
/// Source: docs.sportmonks.com/football/definitions/types/events (sub-forms of VAR).
VarVerdict read_verdict(const rapidjson::Value& row) {
    auto words = read_text(row, "addition").value_or("") + " " + read_text(row, "info").value_or("");
    std::transform(words.begin(), words.end(), words.begin(), [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter;
    });
    const auto says = [&](std::string_view word) { return words.find(word) != std::string::npos; };
    if (says("disallowed") || says("cancelled")) return VarVerdict::kTakesBack;
    if (says("under review")) return VarVerdict::kUnderReview;
    return says("confirmed") ? VarVerdict::kConfirms : VarVerdict::kNone;
}

EventSnapshot read_event(const rapidjson::Value& row) {
    if (!row.IsObject()) throw UnreadableValue("the row is no object");
    if (holds_nul(row)) throw UnreadableValue("the row holds U+0000");
    const auto id = read_integer(row, "id");
    if (!id) throw UnreadableValue("\"id\" is missing");
    const auto type_id = read_int32(row, "type_id");
    if (!type_id) throw UnreadableValue("\"type_id\" is missing");
    EventSnapshot event;
    event.id = *id;
    event.type_id = *type_id;
    event.minute = read_int32(row, "minute");
    event.extra_minute = read_int32(row, "extra_minute");
    // Null, 0 and absent all mean "none", and without a minute there is nothing to add to (B21).
    if (event.extra_minute == 0 || !event.minute) event.extra_minute.reset();
    event.participant_id = read_integer(row, "participant_id");
    event.player = read_person(row, "player_id", "player_name");
    event.related_player = read_person(row, "related_player_id", "related_player_name");
    event.result = read_result(row);
    event.rescinded = read_bool(row, "rescinded");
    if (event.type_id == kVar) event.verdict = read_verdict(row);
    return event;
}

std::optional<std::int64_t> id_if_readable(const rapidjson::Value& row) {
    try {
        return read_integer(row, "id");
    } catch (const UnreadableValue&) {
        return std::nullopt;  // Then it is kept without one: its bytes tell.
    }
}

void reject(FixtureSnapshot& fixture, std::optional<std::int64_t> id, std::string raw, std::string reason) {
    const auto is_same = [&](const RejectedEvent& other) { return other.raw == raw; };
    if (std::any_of(fixture.rejected.begin(), fixture.rejected.end(), is_same)) return;
    fixture.rejected.push_back({id, std::move(raw), std::move(reason)});
}

/// Takes the run of one id that begins at `first`.
void settle_run(std::vector<EventSnapshot>::iterator first, std::vector<EventSnapshot>::iterator last,
                FixtureSnapshot& fixture) {
    const auto hash = content_hash(*first, std::nullopt);
    const bool is_one = std::all_of(
        first + 1, last, [&](const EventSnapshot& other) { return content_hash(other, std::nullopt) == hash; });
    if (is_one) {
        fixture.events.push_back(std::move(*first));
        return;
    }
    for (auto event = first; event != last; ++event) {
        reject(fixture, event->id, std::move(event->raw), "the same id stands in the list with different content");
    }
}

}  // namespace

void read_events(const rapidjson::Value& list, const std::vector<std::string_view>& bytes, FixtureSnapshot& fixture) {
    std::vector<EventSnapshot> events;
    for (rapidjson::SizeType place = 0; place < list.Size(); ++place) {
        try {
            events.push_back(read_event(list[place]));
            events.back().raw = std::string(bytes[place]);
        } catch (const UnreadableValue& reason) {
            reject(fixture, id_if_readable(list[place]), std::string(bytes[place]), reason.what());
        }
    }
    // By bytes too, so that of equal rows in two spellings the same one is kept in whatever order they come.
    std::sort(events.begin(), events.end(), [](const EventSnapshot& a, const EventSnapshot& b) {
        return a.id != b.id ? a.id < b.id : a.raw < b.raw;
    });
    for (auto first = events.begin(); first != events.end();) {
        const auto last =
            std::find_if(first, events.end(), [&](const EventSnapshot& event) { return event.id != first->id; });
        settle_run(first, last, fixture);
        first = last;
    }
    std::sort(fixture.rejected.begin(), fixture.rejected.end(),
              [](const RejectedEvent& a, const RejectedEvent& b) { return a.raw < b.raw; });
}

}  // namespace ftlfeed::capture
