#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

namespace ftlfeed::core {

/// Names a file: `EVENT/FEED_TYPE[/FILTER]`, each part of [a-z0-9_-], 1 to 100 characters. A value.
class FeedKey {
public:
    /// Throws InvalidInput naming the part that is wrong.
    FeedKey(std::string event, std::string feed_type, std::string filter = "");
    /// Reads a doc_key. Throws InvalidInput.
    static FeedKey parse(std::string_view doc_key);
    [[nodiscard]] static bool is_valid_part(std::string_view part) noexcept;

    [[nodiscard]] const std::string& event() const { return event_; }
    [[nodiscard]] const std::string& feed_type() const { return feed_type_; }
    /// Empty when the feed has none.
    [[nodiscard]] const std::string& filter() const { return filter_; }
    [[nodiscard]] std::string doc_key() const;

    auto operator<=>(const FeedKey&) const = default;

private:
    std::string event_;
    std::string feed_type_;
    std::string filter_;
};

}  // namespace ftlfeed::core

template <>
struct std::hash<ftlfeed::core::FeedKey> {
    std::size_t operator()(const ftlfeed::core::FeedKey& key) const { return std::hash<std::string>{}(key.doc_key()); }
};
