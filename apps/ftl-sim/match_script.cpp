#include "match_script.hpp"

#include <algorithm>
#include <array>

namespace ftlfeed::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr minutes kHalfTimeBreak{15};
constexpr minutes kBriefFullTime{1};
constexpr minutes kBreakBeforeExtraTime{4};
constexpr minutes kExtraTimeBreak{1};
constexpr minutes kPenaltyBreak{3};
constexpr minutes kKick{1};
constexpr minutes kShootoutUnseen{8};  // A shoot-out whose kicks are not in the file.
constexpr int kAddedMinutesMin = 2;

struct Half {
    State state;
    int first_minute;
    int length;
    int type_id;
    const char* description;
};

constexpr std::array<Half, 4> kHalves{{
    {State::kFirstHalf, 1, 45, 1, "1st-half"},
    {State::kSecondHalf, 46, 45, 2, "2nd-half"},
    {State::kExtraTime, 91, 15, 3, "extra-time-1st-half"},
    {State::kExtraTimeSecondHalf, 106, 15, 4, "extra-time-2nd-half"},
}};

class Writer {
public:
    explicit Writer(const Match& match) : match_(match), now_(match.kickoff) {}

    MatchScript write() {
        play_half(0);
        rest(State::kHalfTime, kHalfTimeBreak);
        play_half(1);
        next_.current = *match_.full_time;
        if (!match_.extra_time && !match_.shootout) return end(State::kFullTime);

        // The provider shows full time for a moment before it knows that the match goes on.
        rest(State::kFullTime, kBriefFullTime);
        if (match_.extra_time) {
            rest(State::kBreak, kBreakBeforeExtraTime);
            play_half(2);
            rest(State::kExtraTimeBreak, kExtraTimeBreak);
            play_half(3);
            next_.current = *match_.extra_time;
            if (!match_.shootout) return end(State::kAfterExtraTime);
        }
        rest(State::kPenaltyBreak, kPenaltyBreak);
        play_shootout();
        return end(State::kAfterPenalties);
    }

private:
    void show(State state) {
        next_.at = now_;
        next_.state = state;
        script_.snapshots.push_back(next_);
    }

    void rest(State state, minutes length) {
        show(state);
        now_ += length;
    }

    MatchScript end(State state) {
        // A shoot-out may be known by its result alone.
        next_.shootout = match_.shootout;
        show(state);
        return std::move(script_);
    }

    void play_half(std::size_t number) {
        const Half& half = kHalves.at(number);
        Period period{half.type_id, half.description, half.first_minute - 1, half.length, kAddedMinutesMin, now_, now_};
        show(half.state);
        while (next_.events < match_.events.size()) {
            const auto& event = match_.events[next_.events];
            if (half_of(event.at) != number) break;
            now_ = instant_of(event.at, period);
            count_goal(next_.current, event);
            ++next_.events;
            if (event.at.minute >= half.first_minute + half.length - 1) {
                period.added = std::max(period.added, event.at.added);
            }
            show(half.state);
        }
        now_ = std::max(now_ + seconds{1}, period.started + minutes{period.length + period.added});
        period.ended = now_;
        script_.periods.push_back(period);
    }

    /// Half a minute into the minute, and always after what was shown before: two goals of one minute are two instants.
    [[nodiscard]] sys_seconds instant_of(const GameTime& at, const Period& period) const {
        const int played = std::max(0, at.minute - period.counts_from - 1) + at.added;
        return std::max(now_ + seconds{1}, period.started + minutes{played} + seconds{30});
    }

    void play_shootout() {
        Period period{5, "penalties", 120, 0, 0, now_, now_};
        next_.shootout = Goals{};
        show(State::kPenalties);
        for (const auto& kick : match_.kicks) {
            now_ += kKick;
            if (kick.kind == EventKind::kShootoutGoal) ++next_.shootout->of(kick.side);
            ++next_.kicks;
            show(State::kPenalties);
        }
        now_ += match_.kicks.empty() ? kShootoutUnseen : kKick;
        period.ended = now_;
        script_.periods.push_back(period);
    }

    const Match& match_;
    sys_seconds now_;
    Snapshot next_;
    MatchScript script_;
};

}  // namespace

const Snapshot* MatchScript::at(sys_seconds now) const {
    const auto later = std::upper_bound(snapshots.begin(), snapshots.end(), now,
                                        [](sys_seconds time, const Snapshot& snapshot) { return time < snapshot.at; });
    return later == snapshots.begin() ? nullptr : &*std::prev(later);
}

MatchScript write_script(const Match& match) {
    if (!match.is_played()) return {};
    return Writer{match}.write();
}

std::vector<sys_seconds> instants_of(const std::vector<MatchScript>& scripts) {
    std::vector<sys_seconds> instants;
    for (const auto& script : scripts) {
        for (const auto& snapshot : script.snapshots) instants.push_back(snapshot.at);
    }
    std::sort(instants.begin(), instants.end());
    instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
    return instants;
}

}  // namespace ftlfeed::sim
