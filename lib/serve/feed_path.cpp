#include <ftlfeed/serve/feed_path.hpp>

#include <ftlfeed/core/feed_key.hpp>

namespace ftlfeed::serve {
namespace {

constexpr std::string_view kPrefix = "/feeds/";

/// Takes what stands before the next slash off `rest`; nothing when that is no part of a feed key.
std::optional<std::string_view> take_part(std::string_view& rest) noexcept {
    const auto part = rest.substr(0, rest.find('/'));
    if (!core::FeedKey::is_valid_part(part)) return std::nullopt;
    rest.remove_prefix(part.size());
    return part;
}

}  // namespace

Target split_target(std::string_view target) noexcept {
    const auto mark = target.find('?');
    if (mark == std::string_view::npos) return {target, {}};
    return {target.substr(0, mark), target.substr(mark + 1)};
}

bool is_feed_path(std::string_view path) noexcept { return path.starts_with(kPrefix); }

std::optional<FeedPath> parse_feed_path(std::string_view path) noexcept {
    if (!is_feed_path(path)) return std::nullopt;
    FeedPath found;
    found.doc_key = path.substr(kPrefix.size());
    auto rest = found.doc_key;
    const auto event = take_part(rest);
    if (!event || rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
    const auto feed_type = take_part(rest);
    if (!feed_type) return std::nullopt;
    found.event = *event;
    found.feed_type = *feed_type;
    if (rest.empty()) return found;
    rest.remove_prefix(1);
    const auto filter = take_part(rest);
    if (!filter || !rest.empty()) return std::nullopt;
    found.filter = *filter;
    return found;
}

}  // namespace ftlfeed::serve
