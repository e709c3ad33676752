#include "capture/sportmonks_fixture.hpp"

#include <cstdio>
#include <map>

#include <ftlfeed/capture/vocabulary.hpp>

#include "capture/json_read.hpp"

namespace ftlfeed::capture {
namespace {

using std::chrono::sys_seconds;

constexpr std::int32_t kWalkOver = 14;
constexpr std::int32_t kAwarded = 17;

/// "2026-06-11 19:00:00" or "2026-06-11T19:00:00.000000Z". A text without a zone is in the zone of the whole answer; when
/// that is not UTC, only the time stamp counts.
std::optional<sys_seconds> parse_date_time(const std::string& text, bool is_utc) {
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    char separator = 0;
    const int read =
        std::sscanf(text.c_str(), "%4d-%2u-%2u%c%2d:%2d:%2d", &year, &month, &day, &separator, &hour, &minute, &second);
    if (read != 7 || (separator != ' ' && separator != 'T')) return std::nullopt;
    if (text.back() != 'Z' && !is_utc) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
    if (!date.ok()) return std::nullopt;
    return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second);
}

std::optional<sys_seconds> read_kickoff(const rapidjson::Value& value, bool is_utc) {
    // Bounds that the database's time stamps can hold too.
    if (const auto stamp = read_integer(value, "starting_at_timestamp", 0, 253'402'300'799)) {
        return sys_seconds(std::chrono::seconds(*stamp));
    }
    const auto text = read_text(value, "starting_at");
    return text && !text->empty() ? parse_date_time(*text, is_utc) : std::nullopt;
}

void read_teams(const rapidjson::Value& value, FixtureSnapshot& fixture) {
    const auto* participants = find_member(value, "participants");
    if (!participants) return;
    if (!participants->IsArray()) throw UnreadableValue("\"participants\" is no list");
    for (const auto& team : participants->GetArray()) {
        const auto id = read_integer(team, "id");
        const auto* meta = find_member(team, "meta");
        if (!id || !meta) continue;
        // The list is not home first: the location tells.
        const auto location = read_text(*meta, "location");
        if (location != "home" && location != "away") continue;
        auto& side = location == "home" ? fixture.home : fixture.away;
        side = NamedRef{*id, read_text(team, "name").value_or("")};
    }
}

/// The kinds of score rows by description; SDKs disagree about the type ids, which are used only without one.
std::string score_kind(const rapidjson::Value& row) {
    if (auto description = read_text(row, "description"); description && !description->empty()) return *description;
    switch (read_int32(row, "type_id").value_or(0)) {
        case 1525:
            return "CURRENT";
        case 1:
            return "1ST_HALF";
        case 5:
            return "PENALTY_SHOOTOUT";
        default:
            return "";
    }
}

void read_scores(const rapidjson::Value& value, FixtureSnapshot& fixture) {
    const auto* rows = find_member(value, "scores");
    if (!rows) return;
    if (!rows->IsArray()) throw UnreadableValue("\"scores\" is no list");
    std::map<std::string, std::map<Side, std::int32_t>> scores;
    for (const auto& row : rows->GetArray()) {
        const auto* score = find_member(row, "score");
        const auto goals = score ? read_int32(*score, "goals") : std::nullopt;
        if (!goals) continue;
        const auto side_name = read_text(*score, "participant");
        auto side = fixture.side_of(read_integer(row, "participant_id"));
        if (side_name == "home") side = Side::kHome;
        if (side_name == "away") side = Side::kAway;
        if (side) scores[score_kind(row)][*side] = *goals;
    }
    const auto both = [&](const char* kind) -> std::optional<Score> {
        const auto found = scores.find(kind);
        if (found == scores.end() || found->second.size() != 2) return std::nullopt;
        return Score{found->second.at(Side::kHome), found->second.at(Side::kAway)};
    };
    fixture.score = both("CURRENT");
    fixture.half_score = both("1ST_HALF");
    // Never added to the score (B17).
    fixture.shootout = both("PENALTY_SHOOTOUT");
}

std::string read_name(const rapidjson::Value& value, const char* key) {
    const auto* named = find_member(value, key);
    return named ? read_text(*named, "name").value_or("") : "";
}

void read_state(const rapidjson::Value& value, FixtureSnapshot& fixture) {
    const auto* state = find_member(value, "state");
    auto id = read_int32(value, "state_id");
    if (!id && state) id = read_int32(*state, "id");
    if (!id) throw UnreadableValue("\"state_id\" is missing");
    const auto name = state ? read_text(*state, "developer_name").value_or("") : "";
    const auto meaning = state_meaning(*id, name);
    fixture.state_id = *id;
    fixture.is_known_state = meaning.is_known;
    fixture.is_terminal = meaning.is_terminal;
    fixture.has_started = meaning.has_started;
    fixture.state = !name.empty() ? name : std::string(meaning.developer_name);
    if (fixture.state.empty()) fixture.state = "STATE_" + std::to_string(*id);
}

FixtureSnapshot read_whole(const rapidjson::Value& value, const FixtureBytes& bytes, bool is_utc) {
    if (!value.IsObject()) throw UnreadableValue("the fixture is no object");
    FixtureSnapshot fixture;
    const auto id = read_integer(value, "id");
    if (!id) throw UnreadableValue("\"id\" is missing");
    const auto season_id = read_integer(value, "season_id");
    if (!season_id) throw UnreadableValue("\"season_id\" is missing");
    fixture.id = *id;
    fixture.season_id = *season_id;
    fixture.kickoff = read_kickoff(value, is_utc);
    read_state(value, fixture);
    read_teams(value, fixture);
    read_scores(value, fixture);
    fixture.group = read_name(value, "group");
    fixture.round = read_name(value, "round");
    fixture.stage = read_name(value, "stage");
    if (const auto* events = find_member(value, "events")) {
        if (!events->IsArray()) throw UnreadableValue("\"events\" is no list");
        if (bytes.events.size() != events->Size()) throw UnreadableValue("\"events\" stands there twice");
        fixture.has_event_list = true;
        read_events(*events, bytes.events, fixture);
    }
    // A state that tells nothing (unknown, awarded, waiting for updates) leaves it to the events.
    fixture.has_started = fixture.has_started || !fixture.events.empty();
    if (!fixture.is_known_state && fixture.score) fixture.has_started = true;
    // Before the start 0:0 is no score; a match that was awarded has one although it never started.
    const bool is_awarded = fixture.state_id == kWalkOver || fixture.state_id == kAwarded;
    if (!fixture.has_started && !is_awarded) fixture.score = fixture.half_score = fixture.shootout = std::nullopt;
    return fixture;
}

}  // namespace

std::variant<FixtureSnapshot, RejectedFixture> read_fixture(const rapidjson::Value& value, const FixtureBytes& bytes,
                                                            bool is_utc) {
    try {
        return read_whole(value, bytes, is_utc);
    } catch (const UnreadableValue& reason) {
        RejectedFixture rejected{std::nullopt, std::string(bytes.fixture), reason.what()};
        try {
            rejected.id = read_integer(value, "id");
        } catch (const UnreadableValue&) {
            rejected.id.reset();  // Kept without one: its bytes tell.
        }
        return rejected;
    }
}

}  // namespace ftlfeed::capture
