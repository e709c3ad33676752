#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "names.hpp"
#include "shuffle.hpp"
#include "tournament.hpp"

namespace ftlfeed::sim {

/// What happens to one player: a row of goals, cards, subs or missed penalties.
struct Line {
    EventKind kind;
    GameTime at;
    std::string name;
    std::string other;  // Assist, or who went off.
};

/// One kick of a shoot-out.
struct Kick {
    Side side;
    std::string name;
    bool scored;
};

/// A made-up match, as its file will tell it.
struct Game {
    std::string round;
    std::string group;                 // Empty in the knock-out rounds.
    std::chrono::sys_seconds kickoff;  ///< In local time.
    std::size_t home = 0;
    std::size_t away = 0;
    std::array<std::vector<Line>, 2> lines;  // Goals stand with the side that benefits.
    Goals half_time;
    Goals full_time;
    std::optional<Goals> extra_time;
    std::optional<Goals> shootout;
    std::vector<Kick> kicks;

    [[nodiscard]] std::size_t team(Side side) const { return side == Side::kHome ? home : away; }
    [[nodiscard]] std::vector<Line>& of(Side side) { return lines[side == Side::kHome ? 0 : 1]; }
    [[nodiscard]] const std::vector<Line>& of(Side side) const { return lines[side == Side::kHome ? 0 : 1]; }
    [[nodiscard]] std::size_t events() const { return lines[0].size() + lines[1].size() + kicks.size(); }
};

/// Plays made-up games. What happens is decided by the seed alone. Threads: confined to one.
class Pitch {
public:
    /// `squads` is borrowed.
    Pitch(const std::vector<Squad>& squads, std::uint64_t seed) : squads_(squads), random_(seed) {}

    /// `must_decide`: a draw goes into extra time, and then into a shoot-out.
    void play(Game& game, bool must_decide);
    /// Adds one event that moves no result.
    void fill(Game& game);

private:
    GameTime minute_between(int least, int most);
    const std::string& player(const Game& game, Side side);
    void note(Game& game, Side side, EventKind kind, GameTime at);
    void yellow(Game& game, Side side);
    void substitute(Game& game, Side side);
    void score(Game& game, GameTime at);
    void play_on(Game& game);

    const std::vector<Squad>& squads_;
    Random random_;
};

}  // namespace ftlfeed::sim
