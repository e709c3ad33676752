#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace ftlfeed::serve {

/// Does one of the entity tags in `if_none_match` match `etag`, by weak comparison: `W/` counts for nothing? `*` matches
/// whatever is there. What is no list of tags matches nothing from there on: a 200 is always right, only slower.
/// Source: RFC 9110, 8.8.3.2 and 13.1.2.
[[nodiscard]] bool matches_any(std::string_view if_none_match, std::string_view etag) noexcept;

/// What a request says of the version that it has; empty = the header is not there.
struct Conditions {
    std::string_view if_none_match;
    std::string_view if_modified_since;
};

/// Is 304 the answer? If-Modified-Since counts only where If-None-Match is not there (RFC 9110, 13.2.2), and a date that
/// cannot be read counts for nothing. `last_modified` is none where no stamp is known that grows with every version.
[[nodiscard]] bool is_not_modified(const Conditions& conditions, std::string_view etag,
                                   std::optional<std::time_t> last_modified) noexcept;

/// `Sun, 06 Nov 1994 08:49:37 GMT`, for years 1970 to 9999.
[[nodiscard]] std::string http_date(std::time_t time);
/// Reads that form and the two old ones (RFC 9110, 5.6.7), in GMT. None when it is no date.
[[nodiscard]] std::optional<std::time_t> parse_http_date(std::string_view text) noexcept;

}  // namespace ftlfeed::serve
