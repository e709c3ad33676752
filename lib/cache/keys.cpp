#include <ftlfeed/cache/keys.hpp>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::cache {

namespace {

constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/-";
constexpr std::size_t kShownBytesMax = 100;

}  // namespace

Key::Key(std::string text) : text_(std::move(text)) {
    const bool is_key =
        !text_.empty() && text_.size() <= kBytesMax && text_.find_first_not_of(kAllowed) == std::string::npos;
    if (!is_key) {
        throw core::InvalidInput(core::json_quoted(core::shorten(text_, kShownBytesMax)) +
                                 " is no key; it has 1 to 512 characters of A-Z a-z 0-9 _ . : / -");
    }
}

Key Key::document(const core::FeedKey& key) { return Key(std::string(kDocumentPrefix) + key.doc_key()); }

Key Key::rendering(std::string_view client, const core::FeedKey& key) {
    if (!core::FeedKey::is_valid_part(client)) {
        throw core::InvalidInput(core::json_quoted(core::shorten(client, kShownBytesMax)) +
                                 " is no client's code; it has characters of a-z 0-9 _ -");
    }
    return Key("feed:c:" + std::string(client) + ':' + key.doc_key());
}

Key Key::bump(std::int64_t instrument) {
    FTL_ASSERT(instrument >= 0);
    return Key("bump:" + std::to_string(instrument));
}

Key Key::bump_ready() { return Key("bump:ready"); }

}  // namespace ftlfeed::cache
