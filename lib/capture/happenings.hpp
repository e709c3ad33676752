#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <ftlfeed/capture/snapshot.hpp>

namespace ftlfeed::capture {

/// An id under which the provider issued a happening again.
struct ReissuedId {
    std::int64_t id = 0;
    bool is_confirmed = false;  ///< The earlier id stayed away in a later complete answer too.
    bool operator==(const ReissuedId&) const = default;
};

/// One thing that happened in a match, as it is stored: under the id it was first seen with, whatever ids it had since.
struct Happening {
    std::int64_t id = 0;
    std::int32_t type_id = 0;
    std::optional<std::int32_t> minute;
    std::optional<std::int64_t> participant_id;
    std::optional<std::int64_t> player_id;
    std::optional<Side> side;
    VarVerdict verdict = VarVerdict::kNone;
    bool is_withdrawn = false;
    std::int32_t absences = 0;  ///< Complete answers in a row that did not have it.
    std::vector<ReissuedId> reissues;
};

/// An answer, and what there is to judge it by.
struct AnswerView {
    const FixtureSnapshot& snapshot;
    std::optional<Score> stored_score;
    bool is_by_id = false;          ///< The fixture was asked for by its id.
    std::int32_t absences_max = 3;  ///< So many complete answers in a row without it withdraw a happening.
    bool is_older = false;          ///< Than what is stored: it tells of ids, and of no absence.
};

struct Reissue {
    std::int64_t happening = 0;
    std::int64_t id = 0;
    auto operator<=>(const Reissue&) const = default;
};

/// What an answer says of the happenings that are stored. Everything else in it is new.
struct Findings {
    std::map<std::int64_t, std::int64_t> happening_of;  ///< By id in the answer, for those that are known.
    std::vector<Reissue> linked;                        ///< Provisionally, from now on.
    std::vector<Reissue> confirmed;
    std::vector<Reissue> parted;           ///< Both ids are there: two happenings.
    std::set<std::int64_t> withdrawn;      ///< Happenings; their absences are settled.
    std::map<std::int64_t, int> absences;  ///< The new count where it changed.
    bool is_suspect = false;               ///< Too much is missing at once: no evidence of any absence.
    bool has_open_questions = false;       ///< Absences that are not settled, or provisional links.

    [[nodiscard]] bool is_parted(std::int64_t id) const;
};

/// Compares the stored happenings of a fixture with an answer. The provider tells of no removal and no new id: both show
/// only by comparison.
///
/// - An id that is gone and a new one of the same family, team and player, at about the same minute, with the score as it
///   was: issued again, provisionally; confirmed when the old id stays away, parted when both are there (B01, B03).
/// - An absence needs evidence: the score without it, a VAR row that takes it back, an answer by id that confirms it, or
///   `absences_max` complete answers in a row. An answer that is not complete, or in which too much is missing at once, is none (B05, B27).
///
/// Pure. O(stored × new).
[[nodiscard]] Findings find_happenings(const std::vector<Happening>& stored, const AnswerView& answer);

/// Do the goals of an answer add up to its score? None where it has no score or no list. `sides` as decided for it. Pure.
[[nodiscard]] std::optional<bool> is_score_explained(const FixtureSnapshot& snapshot,
                                                     const std::map<std::int64_t, Side>& sides);

}  // namespace ftlfeed::capture
