#include "pitch.hpp"

#include <algorithm>
#include <utility>

namespace ftlfeed::sim {
namespace {

Goals tally(Game& game, int last_minute) {
    Goals goals;
    for (const Side side : {Side::kHome, Side::kAway}) {
        const auto& lines = game.of(side);
        goals.of(side) = static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const Line& line) {
            return is_goal(line.kind) && line.at.minute <= last_minute;
        }));
    }
    return goals;
}

void sort_lines(Game& game) {
    for (auto& lines : game.lines) {
        std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.at < b.at; });
    }
}

}  // namespace

void Pitch::play(Game& game, bool must_decide) {
    int goals = random_.between(0, 3);
    goals += random_.between(0, 2);
    for (int i = 0; i < goals; ++i) score(game, minute_between(1, 90));
    game.half_time = tally(game, 45);
    game.full_time = tally(game, 90);
    if (must_decide && game.full_time.home == game.full_time.away) play_on(game);
    for (const Side side : {Side::kHome, Side::kAway}) {
        for (int i = random_.between(2, 5); i > 0; --i) substitute(game, side);
        for (int i = random_.between(0, 4); i > 0; --i) yellow(game, side);
        if (random_.chance(8)) note(game, side, EventKind::kRedCard, minute_between(20, 90));
        if (random_.chance(6)) note(game, side, EventKind::kYellowRedCard, minute_between(60, 90));
        if (random_.chance(10)) note(game, side, EventKind::kMissedPenalty, minute_between(10, 90));
    }
    sort_lines(game);
}

void Pitch::fill(Game& game) {
    const Side side = random_.chance(50) ? Side::kHome : Side::kAway;
    random_.chance(50) ? yellow(game, side) : substitute(game, side);
    sort_lines(game);
}

/// Minutes at the end of a half may have added time.
GameTime Pitch::minute_between(int least, int most) {
    const int minute = random_.between(least, most);
    const bool is_last = minute == 45 || minute == 90 || minute == 105 || minute == 120;
    return {minute, is_last ? random_.between(0, 7) : 0};
}

const std::string& Pitch::player(const Game& game, Side side) {
    const auto& players = squads_[game.team(side)].players;
    return players[random_.below(players.size())];
}

void Pitch::note(Game& game, Side side, EventKind kind, GameTime at) {
    game.of(side).push_back({kind, at, player(game, side), ""});
}

void Pitch::yellow(Game& game, Side side) { note(game, side, EventKind::kYellowCard, minute_between(5, 90)); }

void Pitch::substitute(Game& game, Side side) {
    auto on = player(game, side);
    auto off = player(game, side);
    if (on == off) return yellow(game, side);
    game.of(side).push_back({EventKind::kSubstitution, minute_between(46, 90), std::move(on), std::move(off)});
}

void Pitch::score(Game& game, GameTime at) {
    const Side benefits = random_.chance(54) ? Side::kHome : Side::kAway;
    const int lot = random_.between(1, 100);
    Line line{EventKind::kGoal, at, "", ""};
    if (lot <= 5) {
        line.kind = EventKind::kOwnGoal;
    } else if (lot <= 15) {
        line.kind = EventKind::kPenalty;
    }
    line.name = player(game, line.kind == EventKind::kOwnGoal ? other(benefits) : benefits);
    if (line.kind == EventKind::kGoal && random_.chance(70)) {
        line.other = player(game, benefits);
        if (line.other == line.name) line.other.clear();
    }
    game.of(benefits).push_back(std::move(line));
}

void Pitch::play_on(Game& game) {
    for (int i = random_.between(0, 2); i > 0; --i) score(game, minute_between(91, 120));
    game.extra_time = tally(game, 120);
    if (game.extra_time->home != game.extra_time->away) return;
    game.shootout = Goals{};
    // Five kicks each, then in pairs until one side is ahead.
    for (int pair = 0; pair < 5 || game.shootout->home == game.shootout->away; ++pair) {
        for (const Side side : {Side::kHome, Side::kAway}) {
            const bool scored = random_.chance(75);
            if (scored) ++game.shootout->of(side);
            game.kicks.push_back({side, player(game, side), scored});
        }
    }
}

}  // namespace ftlfeed::sim
