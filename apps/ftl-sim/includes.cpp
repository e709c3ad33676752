#include "includes.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>

#include "parsing.hpp"

namespace ftlfeed::sim {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr std::size_t kDepthMax = 3;
constexpr std::size_t kIncludesMax = 30;

const Names kOffered{"participants",   "scores",        "state",
                     "periods",        "events",        "events.type",
                     "events.subtype", "events.player", "events.relatedplayer",
                     "events.period",  "group",         "round",
                     "stage",          "venue"};

/// Includes of the real provider that this one does not play.
const Names kElsewhere{"lineups",    "statistics",  "odds",         "predictions",    "weatherreport", "tvstations",
                       "xgfixture",  "referees",    "coaches",      "timeline",       "comments",      "trends",
                       "formations", "sidelined",   "metadata",     "league",         "season",        "sport",
                       "aggregate",  "scores.type", "periods.type", "ballcoordinates"};

bool ends_like(const Names& names, std::string_view last) {
    return std::any_of(names.begin(), names.end(), [last](const std::string& name) {
        return name.substr(name.rfind('.') + 1) == last;  // Without a dot: npos + 1 is 0, the whole name.
    });
}

std::optional<ApiError> refusal(const std::string& path, const Names& plan_lacks) {
    const auto depth = static_cast<std::size_t>(std::count(path.begin(), path.end(), '.')) + 1;
    if (depth > kDepthMax) return ApiError{ApiCode::kIncludeDepth, path};
    if (path.find(':') != std::string::npos) return ApiError{ApiCode::kInvalidQueryParameter, "include"};
    if (plan_lacks.contains(path)) return ApiError{ApiCode::kInsufficientIncludes, path};
    if (kOffered.contains(path)) return std::nullopt;
    if (kElsewhere.contains(path) || kElsewhere.contains(path.substr(0, path.find('.')))) {
        return ApiError{ApiCode::kIncludeNotAvailable, path};
    }
    const auto last = path.substr(path.rfind('.') + 1);
    if (ends_like(kOffered, last)) return ApiError{ApiCode::kIncludeNotAllowed, path};
    return ApiError{ApiCode::kIncludeNotFound, path};
}

}  // namespace

std::variant<Includes, ApiError> parse_includes(std::string_view text, const Names& plan_lacks) {
    Includes includes;
    std::size_t asked = 0;
    while (!text.empty()) {
        std::string path(take_until(text, ";"));
        if (path.empty()) continue;
        std::transform(path.begin(), path.end(), path.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
        if (++asked > kIncludesMax) return ApiError{ApiCode::kQueryComplexity, ""};
        if (const auto error = refusal(path, plan_lacks)) return *error;
        for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', dot + 1)) {
            includes.add(path.substr(0, dot));
        }
        includes.add(path);
    }
    return includes;
}

}  // namespace ftlfeed::sim
