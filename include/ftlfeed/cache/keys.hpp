#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <ftlfeed/core/feed_key.hpp>

namespace ftlfeed::cache {

/// Names an entry in Redis: 1 to 512 characters of [A-Za-z0-9_.:/-], so that no name can mean anything to Redis itself
/// (a brace would choose a cluster's slot), to a log or to a shell. A value.
class Key {
public:
    static constexpr std::size_t kBytesMax = 512;

    /// Any key of these characters. Throws core::InvalidInput.
    explicit Key(std::string text);
    /// What the keys of files as everybody gets them begin with.
    static constexpr std::string_view kDocumentPrefix = "feed:d:";
    /// `feed:d:DOC_KEY`: a file as everybody gets it.
    static Key document(const core::FeedKey& key);
    /// `feed:c:CLIENT:DOC_KEY`: a file as one client gets it. `client` is its code, [a-z0-9_-].
    static Key rendering(std::string_view client, const core::FeedKey& key);
    /// `bump:ID`: an instrument's total, with its fields v and t.
    static Key bump(std::int64_t instrument);
    /// `bump:ready`: the epoch of which all totals are there. While it is missing no total may be taken.
    static Key bump_ready();

    [[nodiscard]] const std::string& text() const { return text_; }

    auto operator<=>(const Key&) const = default;

private:
    std::string text_;
};

}  // namespace ftlfeed::cache
