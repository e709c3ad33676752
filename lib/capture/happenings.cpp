#include "capture/happenings.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include <ftlfeed/capture/vocabulary.hpp>

namespace ftlfeed::capture {
namespace {

/// A happening that was issued again moves by a minute or two; one that is further away is another one.
constexpr std::int32_t kReissueMinutesMax = 5;
/// A VAR row that takes a goal back comes so much later at most.
constexpr std::int32_t kVarMinutesMax = 15;
/// So many missing at once, if they are more than half of all, say more of the answer than of the match.
constexpr std::size_t kMissingMax = 3;

enum class Family { kGoal, kMissedPenalty, kCard, kSubstitution, kShootout, kVar, kOther };

Family family_of(std::int32_t type_id) {
    switch (type_id) {
        case kGoal:
        case kOwnGoal:
        case kPenalty:
            return Family::kGoal;
        case kMissedPenalty:
            return Family::kMissedPenalty;
        case kSubstitution:
            return Family::kSubstitution;
        case kYellowCard:
        case kRedCard:
        case kYellowRedCard:
            return Family::kCard;
        case kShootoutMiss:
        case kShootoutGoal:
            return Family::kShootout;
        case kVar:
            return Family::kVar;
        default:
            return Family::kOther;
    }
}

std::optional<std::int64_t> player_of(const EventSnapshot& event) {
    return event.player ? std::optional(event.player->id) : std::nullopt;
}

std::int32_t minutes_apart(std::optional<std::int32_t> a, std::optional<std::int32_t> b) {
    return a && b ? std::abs(*a - *b) : 0;
}

bool may_be_reissued_as(const Happening& gone, const EventSnapshot& fresh, bool is_score_same) {
    if (gone.participant_id != fresh.participant_id || gone.player_id != player_of(fresh)) return false;
    if (minutes_apart(gone.minute, fresh.minute) > kReissueMinutesMax) return false;
    const auto was = family_of(gone.type_id);
    const auto is = family_of(fresh.type_id);
    if (was == Family::kVar && gone.verdict == VarVerdict::kUnderReview && is == Family::kGoal) return true;
    if (was != is || (was == Family::kOther && gone.type_id != fresh.type_id)) return false;
    return was != Family::kGoal || is_score_same;
}

class Comparison {
public:
    Comparison(const std::vector<Happening>& stored, const AnswerView& answer)
        : stored_(stored), answer_(answer), snapshot_(answer.snapshot) {
        for (const auto& event : snapshot_.events) fresh_.emplace(event.id, &event);
    }

    Findings run() {
        for (const auto& happening : stored_) place(happening);
        if (snapshot_.is_complete() && !answer_.is_older) {
            link_reissues();
            judge_absences();
        }
        note_open_questions();
        return std::move(found_);
    }

private:
    /// Which of its ids are there? The first stays with it, others are happenings of their own.
    void place(const Happening& happening) {
        const auto own = fresh_.extract(happening.id);
        bool is_there = !own.empty();
        if (is_there) found_.happening_of[happening.id] = happening.id;
        for (const auto& reissue : happening.reissues) {
            const auto found = fresh_.find(reissue.id);
            if (found == fresh_.end()) continue;
            if (is_there) {
                found_.parted.push_back({happening.id, reissue.id});
                continue;
            }
            is_there = true;
            fresh_.erase(found);
            found_.happening_of[reissue.id] = happening.id;
            if (!reissue.is_confirmed && snapshot_.is_complete()) {
                found_.confirmed.push_back({happening.id, reissue.id});
            }
        }
        if (!is_there) {
            missing_.push_back(&happening);
        } else if (happening.absences > 0) {
            found_.absences[happening.id] = 0;
        }
    }

    void link_reissues() {
        const bool is_score_same = snapshot_.score == answer_.stored_score;
        std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t>> pairs;
        for (const auto* gone : missing_) {
            if (gone->is_withdrawn) continue;
            for (const auto& [id, event] : fresh_) {
                if (found_.is_parted(id) || !may_be_reissued_as(*gone, *event, is_score_same)) continue;
                pairs.emplace_back(minutes_apart(gone->minute, event->minute), gone->id, id);
            }
        }
        std::sort(pairs.begin(), pairs.end());
        std::set<std::int64_t> done;
        for (const auto& [apart, happening, id] : pairs) {
            if (!fresh_.contains(id) || done.contains(happening)) continue;
            done.insert(happening);
            fresh_.erase(id);
            found_.happening_of[id] = happening;
            found_.linked.push_back({happening, id});
            found_.absences[happening] = 0;
        }
        std::erase_if(missing_, [&](const Happening* gone) { return done.contains(gone->id); });
    }

    void judge_absences() {
        std::erase_if(missing_, [](const Happening* gone) { return gone->is_withdrawn; });
        const auto expected = static_cast<std::size_t>(
            std::count_if(stored_.begin(), stored_.end(), [](const auto& known) { return !known.is_withdrawn; }));
        found_.is_suspect = !missing_.empty() && (snapshot_.events.empty() ||
                                                  (missing_.size() >= kMissingMax && missing_.size() * 2 > expected));
        for (const auto* gone : missing_) {
            const bool is_evident = score_agrees(*gone) || var_agrees(*gone);
            const bool counts = !found_.is_suspect;
            const bool is_confirmed = answer_.is_by_id && gone->absences > 0;
            if (is_evident || (counts && (is_confirmed || gone->absences + 1 >= answer_.absences_max))) {
                found_.withdrawn.insert(gone->id);
                found_.absences[gone->id] = 0;
            } else if (counts) {
                found_.absences[gone->id] = gone->absences + 1;
            }
        }
    }

    /// The goals that are there are all that the score has on that side.
    [[nodiscard]] bool score_agrees(const Happening& gone) const {
        if (family_of(gone.type_id) != Family::kGoal || !gone.side || !snapshot_.score) return false;
        const auto in_score = *gone.side == Side::kHome ? snapshot_.score->home : snapshot_.score->away;
        std::int32_t there = 0;
        for (const auto& known : stored_) {
            const bool is_there = known.id != gone.id && known.side == gone.side &&
                                  family_of(known.type_id) == Family::kGoal && is_present(known.id);
            if (is_there) ++there;
        }
        for (const auto& [id, event] : fresh_) {
            const bool counts = is_score_goal(event->type_id) && snapshot_.side_of(event->participant_id) == gone.side;
            if (counts) ++there;
        }
        return there == in_score;
    }

    [[nodiscard]] bool is_present(std::int64_t happening) const {
        return std::any_of(found_.happening_of.begin(), found_.happening_of.end(),
                           [&](const auto& entry) { return entry.second == happening; });
    }

    [[nodiscard]] bool var_agrees(const Happening& gone) const {
        return std::any_of(snapshot_.events.begin(), snapshot_.events.end(), [&](const EventSnapshot& event) {
            if (event.type_id != kVar || event.verdict != VarVerdict::kTakesBack) return false;
            if (event.participant_id && event.participant_id != gone.participant_id) return false;
            if (event.player && player_of(event) != gone.player_id) return false;
            if (!event.minute || !gone.minute) return false;
            return *event.minute >= *gone.minute && *event.minute - *gone.minute <= kVarMinutesMax;
        });
    }

    void note_open_questions() {
        for (const auto& happening : stored_) {
            const auto changed = found_.absences.find(happening.id);
            if ((changed == found_.absences.end() ? happening.absences : changed->second) > 0) {
                found_.has_open_questions = true;
            }
            for (const auto& reissue : happening.reissues) {
                const Reissue link{happening.id, reissue.id};
                const bool is_settled = reissue.is_confirmed || contains(found_.confirmed, link) ||
                                        contains(found_.parted, link) || happening.is_withdrawn ||
                                        found_.withdrawn.contains(happening.id);
                if (!is_settled) found_.has_open_questions = true;
            }
        }
        if (!found_.linked.empty()) found_.has_open_questions = true;
    }

    static bool contains(const std::vector<Reissue>& links, const Reissue& link) {
        return std::find(links.begin(), links.end(), link) != links.end();
    }

    const std::vector<Happening>& stored_;
    const AnswerView& answer_;
    const FixtureSnapshot& snapshot_;
    std::map<std::int64_t, const EventSnapshot*> fresh_;  // What belongs to no happening so far.
    std::vector<const Happening*> missing_;
    Findings found_;
};

}  // namespace

bool Findings::is_parted(std::int64_t id) const {
    return std::any_of(parted.begin(), parted.end(), [id](const Reissue& link) { return link.id == id; });
}

Findings find_happenings(const std::vector<Happening>& stored, const AnswerView& answer) {
    return Comparison(stored, answer).run();
}

std::optional<bool> is_score_explained(const FixtureSnapshot& snapshot, const std::map<std::int64_t, Side>& sides) {
    if (!snapshot.score || !snapshot.has_event_list) return std::nullopt;
    Score goals;
    for (const auto& event : snapshot.events) {
        if (!is_score_goal(event.type_id) || event.rescinded == true) continue;
        const auto side = sides.find(event.id);
        if (side == sides.end()) return false;
        ++(side->second == Side::kHome ? goals.home : goals.away);
    }
    return goals == *snapshot.score;
}

}  // namespace ftlfeed::capture
