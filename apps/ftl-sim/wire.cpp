#include "wire.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "json_writer.hpp"
#include "shuffle.hpp"

namespace ftlfeed::sim {
namespace {

constexpr int kSport = 1;
constexpr std::int64_t kGroupStage = 77'400'001;
constexpr std::int64_t kKnockOutStage = 77'400'002;

struct StateRow {
    State id;
    const char* code;
    const char* name;
    const char* short_name;
};

constexpr std::array<StateRow, 13> kStates{{
    {State::kNotStarted, "NS", "Not Started", "NS"},
    {State::kFirstHalf, "INPLAY_1ST_HALF", "1st Half", "1st"},
    {State::kHalfTime, "HT", "Half Time", "HT"},
    {State::kBreak, "BREAK", "Regular Time Over", "BRK"},
    {State::kFullTime, "FT", "Full Time", "FT"},
    {State::kExtraTime, "INPLAY_ET", "Extra Time", "ET"},
    {State::kAfterExtraTime, "AET", "After Extra Time", "AET"},
    {State::kAfterPenalties, "FT_PEN", "After Penalties", "FTP"},
    {State::kPenalties, "INPLAY_PENALTIES", "Penalty Shootout", "PEN"},
    {State::kExtraTimeBreak, "EXTRA_TIME_BREAK", "Extra Time Break", "ETB"},
    {State::kSecondHalf, "INPLAY_2ND_HALF", "2nd Half", "2nd"},
    {State::kExtraTimeSecondHalf, "INPLAY_ET_2ND_HALF", "Extra Time 2nd Half", "ET2"},
    {State::kPenaltyBreak, "PEN_BREAK", "Penalties Break", "PB"},
}};

std::optional<Side> winner_of(const Match& match) {
    Goals decisive = match.final_score();
    if (match.shootout) decisive = *match.shootout;
    if (decisive.home == decisive.away) return std::nullopt;
    return decisive.home > decisive.away ? Side::kHome : Side::kAway;
}

std::optional<std::string> result_info(const FixtureView& view) {
    if (!view.has_ended()) return std::nullopt;
    const auto winner = winner_of(view.match);
    if (!winner) return "The match ended in a draw.";
    const char* how = view.match.shootout ? "penalties" : view.match.extra_time ? "extra time" : "full time";
    return view.team(*winner).name + " won after " + how + ".";
}

std::int64_t stage_of(const Match& match) { return match.group ? kGroupStage : kKnockOutStage; }

/// The keys that group, round and stage begin with.
void write_place(JsonWriter& json, const FixtureView& view, std::int64_t id, const std::string& name) {
    json.field("id", id);
    json.field("sport_id", kSport);
    json.field("league_id", kLeagueId);
    json.field("season_id", view.context.season_id);
    json.field("name", name);
    json.field("starting_at", nullptr);
    json.field("ending_at", nullptr);
}

void write_named(JsonWriter& json, const FixtureView& view, const char* key, const Named* named) {
    json.key(key);
    if (!named) return json.value(nullptr);
    json.begin_object();
    write_place(json, view, named->id, named->name);
    json.field("stage_id", stage_of(view.match));
    json.end_object();
}

void write_stage(JsonWriter& json, const FixtureView& view) {
    const bool is_group = view.match.group.has_value();
    json.key("stage");
    json.begin_object();
    write_place(json, view, stage_of(view.match), is_group ? "Group Stage" : "Knock-out Stage");
    json.field("type_id", is_group ? 223 : 224);
    json.field("sort_order", is_group ? 1 : 2);
    json.end_object();
}

void write_venue(JsonWriter& json, const FixtureView& view) {
    json.key("venue");
    if (!view.match.ground) return json.value(nullptr);
    const auto& ground = view.context.tournament.grounds[*view.match.ground];
    json.begin_object();
    json.field("id", ground.id);
    json.field("country_id", nullptr);
    json.field("city_id", nullptr);
    json.field("name", ground.name);
    json.field("address", nullptr);
    json.field("capacity", nullptr);
    json.field("image_path", nullptr);
    json.field("city_name", nullptr);
    json.field("surface", nullptr);
    json.field("national_team", false);
    json.end_object();
}

void write_state(JsonWriter& json, State state) {
    const auto* row = std::find_if(kStates.begin(), kStates.end(), [state](const auto& s) { return s.id == state; });
    json.key("state");
    json.begin_object();
    json.field("id", static_cast<int>(row->id));
    json.field("state", row->code);
    json.field("name", row->name);
    json.field("short_name", row->short_name);
    json.field("developer_name", row->code);
    json.end_object();
}

void write_participant(JsonWriter& json, const FixtureView& view, Side side) {
    const auto& team = view.team(side);
    json.begin_object();
    json.field("id", team.id);
    json.field("sport_id", kSport);
    json.field("country_id", 1);
    json.field("venue_id", nullptr);
    json.field("gender", "male");
    json.field("name", team.name);
    json.field("short_code", nullptr);
    json.field("image_path", "https://provider.example/teams/" + std::to_string(team.id) + ".png");
    json.field("founded", nullptr);
    json.field("type", "national");
    json.field("placeholder", false);
    json.field("last_played_at", nullptr);
    json.key("meta");
    json.begin_object();
    json.field("location", side == Side::kHome ? "home" : "away");
    json.field("winner", view.has_ended() ? std::optional(winner_of(view.match) == side) : std::nullopt);
    json.field("position", nullptr);
    json.end_object();
    json.end_object();
}

void write_participants(JsonWriter& json, const FixtureView& view) {
    json.key("participants");
    json.begin_array();
    for (const auto n : mixed_order(2, view.order_seed(1)))
        write_participant(json, view, n == 0 ? Side::kHome : Side::kAway);
    json.end_array();
}

void write_base(JsonWriter& json, const FixtureView& view) {
    const auto& [context, match, script, includes, snapshot] = view;
    const auto& tournament = context.tournament;
    json.field("id", match.id);
    json.field("sport_id", kSport);
    json.field("league_id", kLeagueId);
    json.field("season_id", context.season_id);
    json.field("stage_id", stage_of(match));
    json.field("group_id", match.group ? std::optional(tournament.groups[*match.group].id) : std::nullopt);
    json.field("aggregate_id", nullptr);
    json.field("round_id", tournament.rounds[match.round].id);
    json.field("state_id", static_cast<int>(view.state()));
    json.field("venue_id", match.ground ? std::optional(tournament.grounds[*match.ground].id) : std::nullopt);
    json.field("name", view.team(Side::kHome).name + " vs " + view.team(Side::kAway).name);
    json.field("starting_at", naive_text(match.kickoff, context.zone));
    json.field("result_info", result_info(view));
    json.field("leg", "1/1");
    json.field("details", nullptr);
    json.field("length", 90);
    json.field("placeholder", false);
    json.field("has_odds", false);
    json.field("has_premium_odds", false);
    json.field("starting_at_timestamp", match.kickoff.time_since_epoch().count());
}

}  // namespace

std::uint64_t FixtureView::order_seed(std::uint64_t list) const {
    const auto instant = snapshot ? snapshot->at.time_since_epoch().count() : 0;
    return mix(mix(mix(context.seed) ^ static_cast<std::uint64_t>(match.id)) ^ static_cast<std::uint64_t>(instant)) +
           list;
}

std::string fixture_json(const WireContext& context, const Match& match, const MatchScript& script,
                         const Includes& includes) {
    const FixtureView view{context, match, script, includes, script.at(context.now)};
    const auto& tournament = context.tournament;
    JsonWriter json;
    json.begin_object();
    write_base(json, view);
    if (includes.has("participants")) write_participants(json, view);
    if (includes.has("scores")) write_scores(json, view);
    if (includes.has("state")) write_state(json, view.state());
    if (includes.has("periods")) write_periods(json, view);
    if (includes.has("events")) write_events(json, view);
    if (includes.has("group"))
        write_named(json, view, "group", match.group ? &tournament.groups[*match.group] : nullptr);
    if (includes.has("round")) write_named(json, view, "round", &tournament.rounds[match.round]);
    if (includes.has("stage")) write_stage(json, view);
    if (includes.has("venue")) write_venue(json, view);
    json.end_object();
    return json.text();
}

}  // namespace ftlfeed::sim
