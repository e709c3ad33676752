#include <ftlfeed/serve/conditional.hpp>

#include "serve/header_text.hpp"

namespace ftlfeed::serve {
namespace {

constexpr std::string_view kWeak = "W/";

std::string_view without_weak(std::string_view tag) noexcept {
    if (tag.starts_with(kWeak)) tag.remove_prefix(kWeak.size());
    return tag;
}

/// Takes the next tag, with its quotes and without `W/`, off the list. Empty when there is none or it is no tag.
std::string_view take_tag(std::string_view& list) noexcept {
    // Empty members are allowed and mean nothing (RFC 9110, 5.6.1.2).
    while (!list.empty() && (list.front() == ' ' || list.front() == '\t' || list.front() == ',')) list.remove_prefix(1);
    list = without_weak(list);
    if (list.empty() || list.front() != '"') return {};
    const auto end = list.find('"', 1);
    if (end == std::string_view::npos) return {};
    const auto tag = list.substr(0, end + 1);
    list.remove_prefix(tag.size());
    while (!list.empty() && (list.front() == ' ' || list.front() == '\t')) list.remove_prefix(1);
    // Two tags without a comma between them are no list.
    return list.empty() || list.front() == ',' ? tag : std::string_view();
}

}  // namespace

bool matches_any(std::string_view if_none_match, std::string_view etag) noexcept {
    etag = without_weak(etag);
    auto list = trimmed(if_none_match);
    if (list == "*") return true;
    for (auto tag = take_tag(list); !tag.empty(); tag = take_tag(list)) {
        if (tag == etag) return true;
    }
    return false;
}

bool is_not_modified(const Conditions& conditions, std::string_view etag,
                     std::optional<std::time_t> last_modified) noexcept {
    if (!conditions.if_none_match.empty()) return matches_any(conditions.if_none_match, etag);
    if (conditions.if_modified_since.empty() || !last_modified) return false;
    const auto since = parse_http_date(conditions.if_modified_since);
    return since && *last_modified <= *since;
}

}  // namespace ftlfeed::serve
