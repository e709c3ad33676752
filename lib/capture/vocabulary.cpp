#include <ftlfeed/capture/vocabulary.hpp>

#include <algorithm>
#include <array>

namespace ftlfeed::capture {
namespace {

struct State {
    std::int32_t id;
    std::string_view name;
    bool is_terminal;
    bool has_started;
};

// Ids are not in the order of play (2, 3, 22): they are looked up, never compared.
constexpr std::array kStates{
    State{1, "NS", false, false},
    State{2, "INPLAY_1ST_HALF", false, true},
    State{3, "HT", false, true},
    State{4, "BREAK", false, true},
    State{5, "FT", true, true},
    State{6, "INPLAY_ET", false, true},
    State{7, "AET", true, true},
    State{8, "FT_PEN", true, true},
    State{9, "INPLAY_PENALTIES", false, true},
    State{10, "POSTPONED", false, false},  // Keeps its id and gets a new date (B33).
    State{11, "SUSPENDED", false, true},   // To be continued.
    State{12, "CANCELLED", true, false},
    State{13, "TBA", false, false},
    State{14, "WO", true, false},
    State{15, "ABANDONED", true, true},
    State{16, "DELAYED", false, false},
    State{17, "AWARDED", true, false},
    State{18, "INTERRUPTED", false, true},
    State{19, "AWAITING_UPDATES", false, false},
    State{20, "DELETED", true, false},
    State{21, "EXTRA_TIME_BREAK", false, true},
    State{22, "INPLAY_2ND_HALF", false, true},
    State{23, "INPLAY_ET_2ND_HALF", false, true},
    State{25, "PEN_BREAK", false, true},
    State{26, "PENDING", false, false},
};

constexpr std::int32_t kFullTime = 5;
constexpr std::int32_t kAfterExtraTime = 7;
constexpr std::int32_t kAfterPenalties = 8;

}  // namespace

std::string event_type_name(std::int32_t type_id) {
    switch (type_id) {
        case kVar:
            return "var";
        case kGoal:
            return "goal";
        case kOwnGoal:
            return "own_goal";
        case kPenalty:
            return "penalty";
        case kMissedPenalty:
            return "missed_penalty";
        case kSubstitution:
            return "substitution";
        case kYellowCard:
            return "yellow_card";
        case kRedCard:
            return "red_card";
        case kYellowRedCard:
            return "yellow_red_card";
        case kShootoutMiss:
            return "shootout_miss";
        case kShootoutGoal:
            return "shootout_goal";
        default:
            return "type_" + std::to_string(type_id);
    }
}

bool is_score_goal(std::int32_t type_id) { return type_id == kGoal || type_id == kOwnGoal || type_id == kPenalty; }

std::string verdict_name(VarVerdict verdict) {
    switch (verdict) {
        case VarVerdict::kUnderReview:
            return "under_review";
        case VarVerdict::kTakesBack:
            return "takes_back";
        case VarVerdict::kConfirms:
            return "confirms";
        case VarVerdict::kNone:
            break;
    }
    return "";
}

VarVerdict parse_verdict(std::string_view name) {
    for (const auto verdict : {VarVerdict::kUnderReview, VarVerdict::kTakesBack, VarVerdict::kConfirms}) {
        if (name == verdict_name(verdict)) return verdict;
    }
    return VarVerdict::kNone;
}

StateMeaning state_meaning(std::int32_t state_id, std::string_view developer_name) {
    const auto meaning = [](const State& state) {
        return StateMeaning{true, state.is_terminal, state.has_started, state.name};
    };
    const auto by_id = std::find_if(kStates.begin(), kStates.end(), [&](const auto& s) { return s.id == state_id; });
    if (by_id != kStates.end()) return meaning(*by_id);
    const auto by_name =
        std::find_if(kStates.begin(), kStates.end(), [&](const auto& s) { return s.name == developer_name; });
    return by_name == kStates.end() ? StateMeaning{} : meaning(*by_name);
}

bool is_open_for_bumps(bool was_over, std::int32_t was_state_id, bool is_terminal, std::int32_t state_id) {
    if (!was_over || !is_terminal) return true;
    return was_state_id == kFullTime && (state_id == kAfterExtraTime || state_id == kAfterPenalties);
}

}  // namespace ftlfeed::capture
