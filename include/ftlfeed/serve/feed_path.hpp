#pragma once

#include <optional>
#include <string_view>

namespace ftlfeed::serve {

/// The file that a path names. Its parts are views into the path. A value.
struct FeedPath {
    std::string_view event;
    std::string_view feed_type;
    std::string_view filter;   ///< Empty = the feed has none.
    std::string_view doc_key;  ///< `EVENT/FEED_TYPE[/FILTER]`
};

/// A request target, parted at its first `?`. A value.
struct Target {
    std::string_view path;
    std::string_view query;  ///< Without the `?`.
};
[[nodiscard]] Target split_target(std::string_view target) noexcept;

/// Is this below `/feeds/`, so that a key is asked for before anything else is said?
[[nodiscard]] bool is_feed_path(std::string_view path) noexcept;

/// Reads `/feeds/EVENT/FEED_TYPE[/FILTER]`, each part 1 to 100 of [a-z0-9_-]. Everything else is no file: nothing is
/// decoded, joined or made shorter, so `..`, `%2e`, `%2f`, `//`, a NUL and bytes beyond ASCII have no way in.
[[nodiscard]] std::optional<FeedPath> parse_feed_path(std::string_view path) noexcept;

}  // namespace ftlfeed::serve
