// Scores, periods and events: what changes while a match is played.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "json_writer.hpp"
#include "shuffle.hpp"
#include "wire.hpp"

namespace ftlfeed::sim {
namespace {

struct ScoreRow {
    int type_id;
    const char* description;
    Goals goals;
};

Goals minus(const Goals& a, const Goals& b) { return {std::max(0, a.home - b.home), std::max(0, a.away - b.away)}; }

bool has_begun(const FixtureView& view, int period_type) {
    return std::any_of(view.script.periods.begin(), view.script.periods.end(), [&](const Period& period) {
        return period.type_id == period_type && period.started <= view.snapshot->at;
    });
}

std::vector<ScoreRow> score_rows(const FixtureView& view) {
    if (!view.snapshot) return {};
    const auto& current = view.snapshot->current;
    Goals first_half;
    for (std::size_t i = 0; i < view.snapshot->events; ++i) {
        const auto& event = view.match.events[i];
        if (half_of(event.at) == 0) count_goal(first_half, event);
    }
    std::vector<ScoreRow> rows{{1525, "CURRENT", current}, {1, "1ST_HALF", first_half}};
    const bool extra = has_begun(view, 3);
    if (has_begun(view, 2)) {
        const auto second_half = extra ? *view.match.full_time : current;
        rows.push_back({2, "2ND_HALF", second_half});
        rows.push_back({48996, "2ND_HALF_ONLY", minus(second_half, first_half)});
    }
    if (extra) rows.push_back({3, "EXTRA_TIME", minus(current, *view.match.full_time)});
    // Apart from the score: the kicks of a shoot-out are no goals of the match.
    if (view.snapshot->shootout) rows.push_back({5, "PENALTY_SHOOTOUT", *view.snapshot->shootout});
    return rows;
}

struct TypeRow {
    EventKind id;
    const char* name;
    const char* code;
    const char* developer_name;
    const char* addition;
};

constexpr std::array<TypeRow, 10> kTypes{{
    {EventKind::kGoal, "Goal", "goal", "GOAL", "Goal"},
    {EventKind::kOwnGoal, "Own Goal", "owngoal", "OWNGOAL", "Own Goal"},
    {EventKind::kPenalty, "Penalty", "penalty", "PENALTY", "Penalty"},
    {EventKind::kMissedPenalty, "Missed Penalty", "missed_penalty", "MISSED_PENALTY", "Missed Penalty"},
    {EventKind::kSubstitution, "Substitution", "substitution", "SUBSTITUTION", "Substitution"},
    {EventKind::kYellowCard, "Yellowcard", "yellowcard", "YELLOWCARD", "Yellowcard"},
    {EventKind::kRedCard, "Redcard", "redcard", "REDCARD", "Redcard"},
    {EventKind::kYellowRedCard, "Yellow/Red card", "yellowredcard", "YELLOWREDCARD", "Yellow/Red card"},
    {EventKind::kShootoutMiss, "Penalty Shootout Miss", "pen_shootout_miss", "PENALTY_SHOOTOUT_MISS", "Shootout Miss"},
    {EventKind::kShootoutGoal, "Penalty Shootout Goal", "pen_shootout_goal", "PENALTY_SHOOTOUT_GOAL", "Shootout Goal"},
}};

const TypeRow& type_of(EventKind kind) {
    return *std::find_if(kTypes.begin(), kTypes.end(), [kind](const TypeRow& row) { return row.id == kind; });
}

std::string ordinal(int number) {
    const int tens = number % 100;
    if (tens >= 11 && tens <= 13) return std::to_string(number) + "th";
    const char* ending = number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
    return std::to_string(number) + ending;
}

bool is_card(EventKind kind) {
    return kind == EventKind::kYellowCard || kind == EventKind::kRedCard || kind == EventKind::kYellowRedCard;
}

/// An event with what depends on the events before it.
struct EventRow {
    const MatchEvent* event;
    int period_type;
    int number_of_type;                 ///< The provider counts each type by itself: not unique in a fixture.
    std::optional<std::string> result;  ///< The score after it, home first.
};

std::vector<EventRow> event_rows(const FixtureView& view) {
    std::vector<EventRow> rows;
    if (!view.snapshot) return rows;
    std::array<int, 24> seen{};
    Goals score;
    for (std::size_t i = 0; i < view.snapshot->events; ++i) {
        const auto& event = view.match.events[i];
        count_goal(score, event);
        const int number = ++seen.at(static_cast<std::size_t>(event.kind));
        const int period = static_cast<int>(half_of(event.at)) + 1;
        rows.push_back({&event, period, number, {}});
        if (is_goal(event.kind)) rows.back().result = fmt::format("{}-{}", score.home, score.away);
    }
    Goals shootout;
    for (std::size_t i = 0; i < view.snapshot->kicks; ++i) {
        const auto& kick = view.match.kicks[i];
        if (kick.kind == EventKind::kShootoutGoal) ++shootout.of(kick.side);
        const int number = ++seen.at(static_cast<std::size_t>(kick.kind));
        rows.push_back({&kick, 5, number, fmt::format("{}-{}", shootout.home, shootout.away)});
    }
    return rows;
}

void write_type(JsonWriter& json, EventKind kind) {
    const auto& type = type_of(kind);
    json.key("type");
    json.begin_object();
    json.field("id", static_cast<int>(type.id));
    json.field("name", type.name);
    json.field("code", type.code);
    json.field("developer_name", type.developer_name);
    json.field("model_type", "event");
    json.field("stat_group", nullptr);
    json.end_object();
}

void write_player(JsonWriter& json, const char* key, const Player* player) {
    json.key(key);
    if (!player) return json.value(nullptr);
    json.begin_object();
    json.field("id", player->id);
    json.field("sport_id", 1);
    json.field("country_id", nullptr);
    json.field("nationality_id", nullptr);
    json.field("position_id", nullptr);
    json.field("common_name", player->name);
    json.field("firstname", nullptr);
    json.field("lastname", nullptr);
    json.field("name", player->name);
    json.field("display_name", player->name);
    json.field("image_path", nullptr);
    json.field("date_of_birth", nullptr);
    json.field("gender", "male");
    json.end_object();
}

void write_period(JsonWriter& json, const FixtureView& view, const Period& period) {
    const auto now = view.context.now;
    const bool is_over = period.ended <= now;
    const auto played = (is_over ? period.ended : now) - period.started;
    const bool is_timed = period.length > 0;
    const auto seconds = played.count();
    json.begin_object();
    json.field("id", view.period_id(period.type_id));
    json.field("fixture_id", view.match.id);
    json.field("type_id", period.type_id);
    json.field("started", period.started.time_since_epoch().count());
    json.field("ended", is_over ? std::optional(period.ended.time_since_epoch().count()) : std::nullopt);
    json.field("counts_from", period.counts_from);
    json.field("ticking", !is_over);
    json.field("sort_order", period.type_id);
    json.field("description", period.description);
    json.field("time_added", is_over && is_timed ? std::optional(period.added) : std::nullopt);
    json.field("period_length", period.length);
    json.field("minutes", is_timed ? std::optional(period.counts_from + seconds / 60) : std::nullopt);
    json.field("seconds", is_timed ? std::optional(seconds % 60) : std::nullopt);
    json.field("has_timer", is_timed);
    json.end_object();
}

void write_event(JsonWriter& json, const FixtureView& view, const EventRow& row) {
    const auto& event = *row.event;
    const auto& players = view.context.tournament.players;
    const auto& player = players[event.player];
    const Player* related = event.related ? &players[*event.related] : nullptr;
    const auto kind = event.kind;
    const auto if_related = [&](const auto& value) { return related ? std::optional(value(*related)) : std::nullopt; };
    json.begin_object();
    json.field("id", event.id);
    json.field("fixture_id", view.match.id);
    json.field("period_id", view.period_id(row.period_type));
    json.field("detailed_period_id", view.period_id(row.period_type));
    // For an own goal this is the team of the player who scored it, not the one whose score grows.
    json.field("participant_id", view.team(event.side).id);
    json.field("type_id", static_cast<int>(kind));
    json.field("sub_type_id", nullptr);
    json.field("section", "event");
    json.field("player_id", player.id);
    json.field("related_player_id", if_related([](const Player& who) { return who.id; }));
    json.field("player_name", player.name);
    json.field("related_player_name", if_related([](const Player& who) { return who.name; }));
    json.field("result", row.result);
    json.field("info", nullptr);
    json.field("addition", ordinal(row.number_of_type) + " " + type_of(kind).addition);
    json.field("minute", event.at.minute);
    json.field("extra_minute", event.at.added > 0 ? std::optional(event.at.added) : std::nullopt);
    json.field("injured", kind == EventKind::kSubstitution ? std::optional(false) : std::nullopt);
    json.field("on_bench", false);
    json.field("coach_id", nullptr);
    json.field("rescinded", is_card(kind) ? std::optional(false) : std::nullopt);
    json.field("sort_order", row.number_of_type);
    if (view.includes.has("events.type")) write_type(json, kind);
    if (view.includes.has("events.subtype")) json.field("subtype", nullptr);
    if (view.includes.has("events.player")) write_player(json, "player", &player);
    if (view.includes.has("events.relatedplayer")) write_player(json, "relatedplayer", related);
    if (view.includes.has("events.period")) {
        for (const auto& period : view.script.periods) {
            if (period.type_id != row.period_type) continue;
            json.key("period");
            write_period(json, view, period);
        }
    }
    json.end_object();
}

}  // namespace

void write_scores(JsonWriter& json, const FixtureView& view) {
    const auto rows = score_rows(view);
    json.key("scores");
    json.begin_array();
    for (const auto n : mixed_order(rows.size() * 2, view.order_seed(2))) {
        const auto& row = rows[n / 2];
        const Side side = n % 2 == 0 ? Side::kHome : Side::kAway;
        json.begin_object();
        json.field("id", view.match.id * 100 + static_cast<std::int64_t>(n) + 1);
        json.field("fixture_id", view.match.id);
        json.field("type_id", row.type_id);
        json.field("participant_id", view.team(side).id);
        json.key("score");
        json.begin_object();
        json.field("goals", row.goals.of(side));
        json.field("participant", side == Side::kHome ? "home" : "away");
        json.end_object();
        json.field("description", row.description);
        json.end_object();
    }
    json.end_array();
}

void write_periods(JsonWriter& json, const FixtureView& view) {
    std::vector<const Period*> begun;
    for (const auto& period : view.script.periods) {
        if (period.started <= view.context.now) begun.push_back(&period);
    }
    json.key("periods");
    json.begin_array();
    for (const auto n : mixed_order(begun.size(), view.order_seed(3))) write_period(json, view, *begun[n]);
    json.end_array();
}

void write_events(JsonWriter& json, const FixtureView& view) {
    const auto rows = event_rows(view);
    json.key("events");
    json.begin_array();
    for (const auto n : mixed_order(rows.size(), view.order_seed(4))) write_event(json, view, rows[n]);
    json.end_array();
}

}  // namespace ftlfeed::sim
