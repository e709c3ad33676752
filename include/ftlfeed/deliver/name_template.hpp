#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/deliver/remote_path.hpp>

namespace ftlfeed::deliver {

/// How a destination names its files: a text with `{event}`, `{feed_type}`, `{filter}` and `{/filter}` (the filter with
/// a slash in front, nothing when the feed has none). Immutable.
class NameTemplate {
public:
    /// Refuses what could leave the folder or break a protocol's line: `..`, an absolute path, empty parts, control
    /// characters (CR, LF, NUL), a backslash, unknown or unclosed braces. Throws core::InvalidInput naming the trouble.
    explicit NameTemplate(std::string text);

    /// The path of a file. Throws core::InvalidInput when this key gives no lawful path (a `{filter}` that is empty, a
    /// part that is too long): the trouble of this file alone.
    [[nodiscard]] RemotePath path_of(const core::FeedKey& key) const;
    [[nodiscard]] const std::string& text() const { return text_; }

private:
    enum class Piece { kLiteral, kEvent, kFeedType, kFilter, kSlashFilter };
    struct Part {
        Piece piece;
        std::string literal;
    };
    static Piece piece_named(std::string_view name, const std::string& whole);

    std::string text_;
    std::vector<Part> parts_;
};

}  // namespace ftlfeed::deliver
