#include <ftlfeed/core/feed_key.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::core {

namespace {

constexpr std::size_t kPartBytesMax = 100;

void check_part(std::string_view part, const char* name) {
    if (FeedKey::is_valid_part(part)) return;
    throw InvalidInput(std::string("the ") + name + " of a feed key is " + json_quoted(shorten(part, kPartBytesMax)) +
                       "; it must be 1 to 100 characters of a-z, 0-9, _ and -");
}

}  // namespace

bool FeedKey::is_valid_part(std::string_view part) noexcept {
    return !part.empty() && part.size() <= kPartBytesMax && std::all_of(part.begin(), part.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
}

FeedKey::FeedKey(std::string event, std::string feed_type, std::string filter)
    : event_(std::move(event)), feed_type_(std::move(feed_type)), filter_(std::move(filter)) {
    check_part(event_, "event");
    check_part(feed_type_, "feed type");
    if (!filter_.empty()) check_part(filter_, "filter");
}

FeedKey FeedKey::parse(std::string_view doc_key) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= doc_key.size();) {
        const auto end = std::min(doc_key.find('/', begin), doc_key.size());
        parts.emplace_back(doc_key.substr(begin, end - begin));
        begin = end + 1;
    }
    if (parts.size() < 2 || parts.size() > 3) {
        throw InvalidInput(json_quoted(shorten(doc_key, 3 * kPartBytesMax)) +
                           " is no feed key; write EVENT/FEED_TYPE or EVENT/FEED_TYPE/FILTER");
    }
    if (parts.size() == 3) check_part(parts[2], "filter");  // "a/b/" is not "a/b".
    return FeedKey(parts[0], parts[1], parts.size() == 3 ? parts[2] : "");
}

std::string FeedKey::doc_key() const {
    auto key = event_ + '/' + feed_type_;
    return filter_.empty() ? key : key + '/' + filter_;
}

}  // namespace ftlfeed::core
