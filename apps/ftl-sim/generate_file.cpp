#include "generate_file.hpp"

#include <fmt/core.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <string_view>

#include "zone.hpp"

namespace ftlfeed::sim {
namespace {

constexpr int kUtcOffset = -4;  // The games' kick-offs are local times of this zone.

class FileWriter {
public:
    FileWriter(const std::string& name, const std::vector<Squad>& squads) : squads_(squads) {
        json_.SetIndent(' ', 1);
        json_.SetFormatOptions(rapidjson::kFormatSingleLineArray);
        json_.StartObject();
        text("name", name);
        json_.Key("matches");
        json_.StartArray();
    }

    void write(const Game& game) {
        json_.StartObject();
        text("round", game.round);
        const auto local = utc_text(game.kickoff);
        text("date", local.substr(0, 10));
        text("time", fmt::format("{} UTC{}", local.substr(11, 5), kUtcOffset));
        text("team1", squads_[game.home].team);
        text("team2", squads_[game.away].team);
        json_.Key("score");
        json_.StartObject();
        if (game.shootout) pair("p", *game.shootout);
        if (game.extra_time) pair("et", *game.extra_time);
        pair("ft", game.full_time);
        pair("ht", game.half_time);
        json_.EndObject();
        for (const Side side : {Side::kHome, Side::kAway}) {
            lines(game, side, "goals", [](EventKind kind) { return is_goal(kind); });
        }
        if (!game.group.empty()) text("group", game.group);
        text("ground", fmt::format("Ground {}", game.home % 8 + 1));
        for (const Side side : {Side::kHome, Side::kAway}) {
            lines(game, side, "cards", [](EventKind kind) { return *card_of(kind) != '\0'; });
            lines(game, side, "subs", [](EventKind kind) { return kind == EventKind::kSubstitution; });
            lines(game, side, "missed", [](EventKind kind) { return kind == EventKind::kMissedPenalty; });
        }
        if (!game.kicks.empty()) shootout(game);
        json_.EndObject();
    }

    std::string finish() {
        json_.EndArray();
        json_.EndObject();
        return std::string(buffer_.GetString(), buffer_.GetSize()) + "\n";
    }

private:
    void text(std::string_view key, std::string_view value) {
        json_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size()));
        json_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
    }

    void flag(const char* key, bool value) {
        json_.Key(key);
        json_.Bool(value);
    }

    void pair(const char* key, const Goals& goals) {
        json_.Key(key);
        json_.StartArray();
        json_.Int(goals.home);
        json_.Int(goals.away);
        json_.EndArray();
    }

    static const char* card_of(EventKind kind) {
        switch (kind) {
            case EventKind::kYellowCard:
                return "yellow";
            case EventKind::kRedCard:
                return "red";
            case EventKind::kYellowRedCard:
                return "yellow-red";
            default:
                return "";
        }
    }

    template <typename Wanted>
    void lines(const Game& game, Side side, const char* key, Wanted is_wanted) {
        const auto name = std::string(key) + (side == Side::kHome ? "1" : "2");
        json_.Key(name.c_str());
        json_.StartArray();
        for (const auto& line : game.of(side)) {
            if (is_wanted(line.kind)) write(line);
        }
        json_.EndArray();
    }

    void write(const Line& line) {
        json_.StartObject();
        text("name", line.name);
        text("minute",
             line.at.added > 0 ? fmt::format("{}+{}", line.at.minute, line.at.added) : std::to_string(line.at.minute));
        if (line.kind == EventKind::kPenalty) flag("penalty", true);
        if (line.kind == EventKind::kOwnGoal) flag("owngoal", true);
        if (const char* card = card_of(line.kind); *card) text("card", card);
        if (!line.other.empty()) text(line.kind == EventKind::kSubstitution ? "off" : "assist", line.other);
        json_.EndObject();
    }

    void shootout(const Game& game) {
        json_.Key("shootout");
        json_.StartArray();
        for (const auto& kick : game.kicks) {
            json_.StartObject();
            json_.Key("team");
            json_.Int(kick.side == Side::kHome ? 1 : 2);
            text("name", kick.name);
            flag("scored", kick.scored);
            json_.EndObject();
        }
        json_.EndArray();
    }

    const std::vector<Squad>& squads_;
    rapidjson::StringBuffer buffer_;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> json_{buffer_};
};

}  // namespace

std::string data_file(const std::string& name, const std::vector<Squad>& squads, const std::vector<Game>& games) {
    FileWriter file(name, squads);
    for (const auto& game : games) file.write(game);
    return file.finish();
}

}  // namespace ftlfeed::sim
