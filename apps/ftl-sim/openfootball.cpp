// Reads openfootball's JSON. The only file that knows its keys; the rules that it applies are in tournament.hpp.
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "failure.hpp"
#include "tournament.hpp"

namespace ftlfeed::sim {
namespace {

using Json = rapidjson::Value;

constexpr std::int64_t kFixtureBase = 19'000'000;
constexpr std::int64_t kTeamBase = 18'000;
constexpr std::int64_t kPlayerBase = 37'000'000;
constexpr std::int64_t kEventBase = 140'000'000;
constexpr std::int64_t kEventsOfMatchMax = 10'000;
constexpr std::int64_t kRoundBase = 340'000;
constexpr std::int64_t kGroupBase = 250'000;
constexpr std::int64_t kGroundBase = 5'000;

std::string text_of(const Json& value) { return {value.GetString(), value.GetStringLength()}; }

const Json* find(const Json& object, const char* key) {
    const auto member = object.FindMember(key);
    return member == object.MemberEnd() || member->value.IsNull() ? nullptr : &member->value;
}

std::string text(const Json& object, const char* key) {
    const auto* value = find(object, key);
    if (!value) return {};
    if (!value->IsString()) throw DataError(std::string(key) + " is not a text");
    return text_of(*value);
}

std::string needed_text(const Json& object, const char* key) {
    auto found = text(object, key);
    if (found.empty()) throw DataError(std::string(key) + " is missing");
    return found;
}

bool flag(const Json& object, const char* key) {
    const auto* value = find(object, key);
    return value && value->IsBool() && value->GetBool();
}

/// The list under `key`; an absent one is empty.
std::vector<const Json*> list(const Json& object, const std::string& key) {
    std::vector<const Json*> rows;
    const auto* value = find(object, key.c_str());
    if (!value) return rows;
    if (!value->IsArray()) throw DataError(key + " is not a list");
    for (const auto& row : value->GetArray()) {
        if (!row.IsObject()) throw DataError(key + " has a row that is not an object");
        rows.push_back(&row);
    }
    return rows;
}

std::optional<Goals> score(const Json& scores, const char* key) {
    const auto* pair = find(scores, key);
    if (!pair) return std::nullopt;
    if (!pair->IsArray() || pair->Size() != 2 || !(*pair)[0].IsInt() || !(*pair)[1].IsInt()) {
        throw DataError(std::string("score.") + key + " is not a pair of numbers");
    }
    return Goals{(*pair)[0].GetInt(), (*pair)[1].GetInt()};
}

/// 2022 writes 90 with "offset": 4, 2026 writes "90+4".
GameTime minute(const Json& row) {
    const auto* value = find(row, "minute");
    if (!value) throw DataError("minute is missing");
    if (value->IsString()) return parse_minute(text_of(*value));
    if (!value->IsInt()) throw DataError("minute is neither a number nor a text");
    const auto* offset = find(row, "offset");
    if (offset && !offset->IsInt()) throw DataError("offset is not a number");
    return parse_minute(std::to_string(value->GetInt()) + (offset ? "+" + std::to_string(offset->GetInt()) : ""));
}

/// Turns names into places in a list, in the order of their first appearance.
template <typename Key, typename Row, typename Make>
std::size_t place_of(std::map<Key, std::size_t>& places, std::vector<Row>& rows, const Key& key, Make make) {
    const auto [entry, is_new] = places.try_emplace(key, rows.size());
    if (is_new) rows.push_back(make());
    return entry->second;
}

class Reader {
public:
    Tournament read(const Json& document) {
        tournament_.name = text(document, "name");
        for (const auto* row : list(document, "matches")) {
            match_ = tournament_.matches.size();
            try {
                tournament_.matches.push_back(read_match(*row));
            } catch (const DataError& error) {
                throw DataError("match " + std::to_string(match_ + 1) + ": " + error.what());
            }
        }
        if (tournament_.matches.empty()) throw DataError("the file has no matches");
        return std::move(tournament_);
    }

private:
    static std::int64_t nth(std::int64_t base, std::size_t place) {
        return base + 1 + static_cast<std::int64_t>(place);
    }

    std::size_t team(const std::string& name) {
        auto& rows = tournament_.teams;
        return place_of(teams_, rows, name, [&] { return Team{nth(kTeamBase, rows.size()), name}; });
    }

    std::size_t player(std::size_t team, const std::string& name) {
        auto& rows = tournament_.players;
        return place_of(players_, rows, std::pair{team, name}, [&] {
            return Player{nth(kPlayerBase, rows.size()), team, name};
        });
    }

    static std::size_t named(std::map<std::string, std::size_t>& places, std::vector<Named>& rows,
                             const std::string& name, std::int64_t base) {
        return place_of(places, rows, name, [&] { return Named{nth(base, rows.size()), name}; });
    }

    Match read_match(const Json& row) {
        Match match;
        match.id = nth(kFixtureBase, match_);
        match.home = team(needed_text(row, "team1"));
        match.away = team(needed_text(row, "team2"));
        match.kickoff = parse_kickoff(needed_text(row, "date"), text(row, "time"));
        match.round = named(rounds_, tournament_.rounds, needed_text(row, "round"), kRoundBase);
        if (const auto name = text(row, "group"); !name.empty()) {
            match.group = named(groups_, tournament_.groups, name, kGroupBase);
        }
        if (const auto name = text(row, "ground"); !name.empty()) {
            match.ground = named(grounds_, tournament_.grounds, name, kGroundBase);
        }
        if (const auto* scores = find(row, "score")) read_score(match, *scores);
        // Without a score the match stays not started: what else the file says about it is not played.
        if (match.is_played()) read_events(match, row);
        return match;
    }

    static void read_score(Match& match, const Json& scores) {
        if (!scores.IsObject()) throw DataError("score is not an object");
        match.half_time = score(scores, "ht");
        match.full_time = score(scores, "ft");
        match.extra_time = score(scores, "et");
        match.shootout = score(scores, "p");
        if (!match.full_time && (match.extra_time || match.shootout)) throw DataError("score.ft is missing");
    }

    void read_events(Match& match, const Json& row) {
        for (const Side side : {Side::kHome, Side::kAway}) {
            const std::string number = side == Side::kHome ? "1" : "2";
            for (const auto* goal : list(row, "goals" + number)) read_goal(match, *goal, side);
            for (const auto* card : list(row, "cards" + number)) add(match, *card, card_kind(*card), side, "");
            for (const auto* sub : list(row, "subs" + number)) {
                add(match, *sub, EventKind::kSubstitution, side, "off");
            }
            for (const auto* miss : list(row, "missed" + number)) {
                add(match, *miss, EventKind::kMissedPenalty, side, "");
            }
        }
        std::stable_sort(match.events.begin(), match.events.end(),
                         [](const MatchEvent& a, const MatchEvent& b) { return a.at < b.at; });
        for (const auto* kick : list(row, "shootout")) read_kick(match, *kick);
    }

    /// The list that a goal stands in is that of the side that benefits; an own goal's scorer plays for the other one.
    void read_goal(Match& match, const Json& goal, Side benefits) {
        const bool own = flag(goal, "owngoal");
        const auto kind = own ? EventKind::kOwnGoal : flag(goal, "penalty") ? EventKind::kPenalty : EventKind::kGoal;
        add(match, goal, kind, own ? other(benefits) : benefits, "assist");
    }

    static EventKind card_kind(const Json& card) {
        const auto colour = needed_text(card, "card");
        if (colour == "yellow") return EventKind::kYellowCard;
        if (colour == "red") return EventKind::kRedCard;
        if (colour == "yellow-red") return EventKind::kYellowRedCard;
        throw DataError("card '" + colour + "' is neither yellow, red nor yellow-red");
    }

    void add(Match& match, const Json& row, EventKind kind, Side side, const char* related_key) {
        auto event = person(match, row, kind, side, related_key);
        event.at = normalised(minute(row), match.extra_time.has_value());
        match.events.push_back(event);
    }

    void read_kick(Match& match, const Json& row) {
        if (!match.shootout) throw DataError("there is a shootout, but no score.p");
        const auto* side = find(row, "team");
        if (!side || !side->IsInt() || (side->GetInt() != 1 && side->GetInt() != 2)) {
            throw DataError("a shootout's team is 1 or 2");
        }
        const auto kind = flag(row, "scored") ? EventKind::kShootoutGoal : EventKind::kShootoutMiss;
        auto kick = person(match, row, kind, side->GetInt() == 1 ? Side::kHome : Side::kAway, "");
        kick.at = {120, 0};
        match.kicks.push_back(kick);
    }

    MatchEvent person(const Match& match, const Json& row, EventKind kind, Side side, const char* related_key) {
        MatchEvent event;
        event.kind = kind;
        event.side = side;
        const auto place = static_cast<std::int64_t>(match.events.size() + match.kicks.size());
        if (place >= kEventsOfMatchMax) throw DataError("more than 10000 events");
        event.id = kEventBase + static_cast<std::int64_t>(match_) * kEventsOfMatchMax + place + 1;
        const auto team = side == Side::kHome ? match.home : match.away;
        event.player = player(team, needed_text(row, "name"));
        if (*related_key) {
            if (const auto name = text(row, related_key); !name.empty()) event.related = player(team, name);
        }
        return event;
    }

    Tournament tournament_;
    std::size_t match_ = 0;
    std::map<std::string, std::size_t> teams_;
    std::map<std::pair<std::size_t, std::string>, std::size_t> players_;
    std::map<std::string, std::size_t> rounds_;
    std::map<std::string, std::size_t> groups_;
    std::map<std::string, std::size_t> grounds_;
};

}  // namespace

Tournament parse_tournament(const std::string& json) {
    rapidjson::Document document;
    document.Parse(json.data(), json.size());
    if (document.HasParseError()) {
        throw DataError("not JSON at byte " + std::to_string(document.GetErrorOffset()) + ": " +
                        rapidjson::GetParseError_En(document.GetParseError()));
    }
    if (!document.IsObject()) throw DataError("the file is not an object with \"matches\"");
    return Reader{}.read(document);
}

Tournament read_tournament(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw system_failure("cannot read " + path);
    std::ostringstream content;
    content << file.rdbuf();
    try {
        return parse_tournament(content.str());
    } catch (const DataError& error) {
        throw DataError(path + ": " + error.what());
    }
}

}  // namespace ftlfeed::sim
