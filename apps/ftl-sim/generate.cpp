#include "generate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "command.hpp"
#include "generate_file.hpp"
#include "names.hpp"
#include "pitch.hpp"

namespace ftlfeed::sim {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;

constexpr sys_days kFirstDay = 2027y / 6 / 10;
constexpr std::size_t kTeamsMin = 8;
constexpr std::size_t kTeamsMax = 128;
constexpr std::size_t kGroupSize = 4;
constexpr std::size_t kRoundRobin = 3;
constexpr std::size_t kEventsOfMatch = 22;  // Roughly; decides how many matches are made for --events.
constexpr std::size_t kEventsMax = 1'000'000;

bool is_filler(const Line& line) {
    return line.kind == EventKind::kYellowCard || line.kind == EventKind::kSubstitution;
}

struct Standing {
    std::size_t team = 0;
    int points = 0;
    int difference = 0;
    int goals = 0;
};

class Generator {
public:
    explicit Generator(const GenerateSettings& settings) : settings_(settings), pitch_(squads_, settings.seed) {
        for (std::size_t n = 0; n < settings.teams; ++n) squads_.push_back(squad_of(n));
    }

    std::vector<Game> games() {
        const std::size_t usual = usual_matches();
        std::size_t wanted = settings_.matches.value_or(usual);
        if (!settings_.matches && settings_.events) wanted = std::max(wanted, *settings_.events / kEventsOfMatch + 1);
        play_groups(rounds_for(wanted));
        if (wanted <= usual) play_knockout();
        games_.resize(std::min(games_.size(), wanted));
        if (settings_.events) reach(*settings_.events);
        return std::move(games_);
    }

    [[nodiscard]] const std::vector<Squad>& squads() const { return squads_; }

private:
    [[nodiscard]] std::size_t groups() const { return settings_.teams / kGroupSize; }
    [[nodiscard]] std::size_t matches_of_round() const { return settings_.teams / 2; }
    /// Group matches, then half of the teams in knock-out rounds, with a match for third place.
    [[nodiscard]] std::size_t usual_matches() const { return kRoundRobin * matches_of_round() + settings_.teams / 2; }

    [[nodiscard]] std::size_t rounds_for(std::size_t wanted) const {
        if (wanted <= usual_matches()) return kRoundRobin;
        return (wanted + matches_of_round() - 1) / matches_of_round();
    }

    void play_groups(std::size_t rounds) {
        // The four play 01 23, 02 13, 03 12: then all again with the home side changed.
        static constexpr std::array<std::array<std::size_t, 4>, kRoundRobin> kPairs{
            {{0, 1, 2, 3}, {0, 2, 3, 1}, {3, 0, 1, 2}}};
        const bool at_once = rounds > kRoundRobin;
        for (std::size_t round = 0; round < rounds; ++round) {
            const auto& pairs = kPairs.at(round % kRoundRobin);
            const bool is_return = round / kRoundRobin % 2 == 1;
            for (std::size_t group = 0; group < groups(); ++group) {
                for (std::size_t pair = 0; pair < 2; ++pair) {
                    Game game;
                    game.round = fmt::format("Matchday {}", round + 1);
                    game.group = group_name(group);
                    game.kickoff = group_kickoff(round, group, pair, at_once);
                    game.home = group * kGroupSize + pairs.at(pair * 2 + (is_return ? 1 : 0));
                    game.away = group * kGroupSize + pairs.at(pair * 2 + (is_return ? 0 : 1));
                    pitch_.play(game, false);
                    games_.push_back(std::move(game));
                }
            }
        }
    }

    /// "Group A" to "Group Z", then "Group AA".
    static std::string group_name(std::size_t group) {
        const std::string letter(1, static_cast<char>('A' + group % 26));
        return "Group " + (group < 26 ? letter : "A" + letter);
    }

    /// Four matches a day; on a group's last day both at the same time. A long season plays a round at once.
    [[nodiscard]] sys_seconds group_kickoff(std::size_t round, std::size_t group, std::size_t pair,
                                            bool at_once) const {
        if (at_once) return kFirstDay + days{static_cast<int>(round)} + hours{18};
        const auto days_of_round = (groups() + 1) / 2;
        const auto day = round * days_of_round + group / 2;
        const bool is_last = round % kRoundRobin == kRoundRobin - 1;
        const auto slot = group % 2 * 2 + (is_last ? 0 : pair);
        return kFirstDay + days{static_cast<int>(day)} + hours{12 + 3 * static_cast<int>(slot)};
    }

    [[nodiscard]] std::vector<std::size_t> ranked(std::size_t group) const {
        std::vector<Standing> table(kGroupSize);
        for (std::size_t n = 0; n < kGroupSize; ++n) table[n].team = group * kGroupSize + n;
        for (const auto& game : games_) {
            if (game.home / kGroupSize != group) continue;
            const int difference = game.full_time.home - game.full_time.away;
            auto& home = table[game.home % kGroupSize];
            auto& away = table[game.away % kGroupSize];
            home.points += difference > 0 ? 3 : difference == 0 ? 1 : 0;
            away.points += difference < 0 ? 3 : difference == 0 ? 1 : 0;
            home.difference += difference;
            away.difference -= difference;
            home.goals += game.full_time.home;
            away.goals += game.full_time.away;
        }
        std::stable_sort(table.begin(), table.end(), [](const Standing& a, const Standing& b) {
            return std::tuple(b.points, b.difference, b.goals) < std::tuple(a.points, a.difference, a.goals);
        });
        std::vector<std::size_t> teams;
        for (const auto& row : table) teams.push_back(row.team);
        return teams;
    }

    void play_knockout() {
        std::vector<std::size_t> left;
        for (std::size_t group = 0; group < groups(); group += 2) {
            const auto one = ranked(group);
            const auto two = ranked(group + 1);
            left.insert(left.end(), {one[0], two[1], two[0], one[1]});
        }
        auto day = std::chrono::floor<days>(games_.back().kickoff) + days{3};
        std::vector<std::size_t> beaten;
        while (left.size() > 1) {
            if (left.size() == 2) {
                play_tie("Match for third place", beaten.at(0), beaten.at(1), day + hours{16});
                day += days{1};
            }
            beaten.clear();
            std::vector<std::size_t> winners;
            for (std::size_t tie = 0; tie < left.size() / 2; ++tie) {
                const auto kickoff = day + days{static_cast<int>(tie / 2)} + hours{15 + 4 * static_cast<int>(tie % 2)};
                const auto winner = play_tie(round_name(left.size()), left[2 * tie], left[2 * tie + 1], kickoff);
                winners.push_back(winner);
                beaten.push_back(winner == left[2 * tie] ? left[2 * tie + 1] : left[2 * tie]);
            }
            day += days{static_cast<int>(left.size()) / 4 + 2};
            left = std::move(winners);
        }
    }

    static std::string round_name(std::size_t teams) {
        if (teams == 2) return "Final";
        if (teams == 4) return "Semi-finals";
        if (teams == 8) return "Quarter-finals";
        return fmt::format("Round of {}", teams);
    }

    std::size_t play_tie(const std::string& round, std::size_t home, std::size_t away, sys_seconds kickoff) {
        Game game;
        game.round = round;
        game.kickoff = kickoff;
        game.home = home;
        game.away = away;
        pitch_.play(game, true);
        const auto decisive = game.shootout.value_or(game.extra_time.value_or(game.full_time));
        games_.push_back(std::move(game));
        return decisive.home > decisive.away ? home : away;
    }

    /// Brings the number of events to `wanted` with what moves no result.
    void reach(std::size_t wanted) {
        std::size_t events = 0;
        for (const auto& game : games_) events += game.events();
        for (std::size_t n = 0; events < wanted; ++n, ++events) pitch_.fill(games_[n % games_.size()]);
        for (auto& game : games_) {
            for (auto& lines : game.lines) {
                while (events > wanted) {
                    const auto filler = std::find_if(lines.begin(), lines.end(), is_filler);
                    if (filler == lines.end()) break;
                    lines.erase(filler);
                    --events;
                }
            }
        }
        if (events > wanted)
            throw UsageError(fmt::format("--events: these matches alone have {} goals and kicks", events));
    }

    GenerateSettings settings_;
    std::vector<Squad> squads_;
    Pitch pitch_;
    std::vector<Game> games_;
};

}  // namespace

std::string generate_tournament(const GenerateSettings& settings) {
    if (!std::has_single_bit(settings.teams) || settings.teams < kTeamsMin || settings.teams > kTeamsMax) {
        throw UsageError("--teams must be 8, 16, 32, 64 or 128");
    }
    if (settings.matches && (*settings.matches == 0 || *settings.matches > kEventsMax)) {
        throw UsageError("--matches must lie between 1 and 1000000");
    }
    if (settings.events && (*settings.events == 0 || *settings.events > kEventsMax)) {
        throw UsageError("--events must lie between 1 and 1000000");
    }
    Generator generator(settings);
    const auto games = generator.games();
    return data_file(fmt::format("Generated Cup, seed {}", settings.seed), generator.squads(), games);
}

}  // namespace ftlfeed::sim
