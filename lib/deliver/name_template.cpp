#include <ftlfeed/deliver/name_template.hpp>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>

namespace ftlfeed::deliver {

NameTemplate::Piece NameTemplate::piece_named(std::string_view name, const std::string& whole) {
    if (name == "event") return Piece::kEvent;
    if (name == "feed_type") return Piece::kFeedType;
    if (name == "filter") return Piece::kFilter;
    if (name == "/filter") return Piece::kSlashFilter;
    throw core::InvalidInput("name template " + core::json_quoted(core::shorten(whole, 200)) + ": unknown {" +
                             core::shorten(name, 40) + "}; known are {event}, {feed_type}, {filter}, {/filter}");
}

NameTemplate::NameTemplate(std::string text) : text_(std::move(text)) {
    std::size_t at = 0;
    while (at < text_.size()) {
        const auto brace = text_.find_first_of("{}", at);
        if (brace != at) {
            parts_.push_back({Piece::kLiteral, text_.substr(at, brace - at)});
            at = std::min(brace, text_.size());
            continue;
        }
        const auto end = text_.find('}', at);
        if (text_[at] == '}' || end == std::string::npos) {
            throw core::InvalidInput("name template " + core::json_quoted(core::shorten(text_, 200)) +
                                     ": a brace has no partner");
        }
        parts_.push_back({piece_named(std::string_view(text_).substr(at + 1, end - at - 1), text_), ""});
        at = end + 1;
    }
    // Keys are of [a-z0-9_-] alone, so a template that gives a lawful path for one key does so for all, but for an
    // empty filter and for length: those are troubles of one file.
    try {
        static_cast<void>(path_of(core::FeedKey("e", "t", "f")));
    } catch (const core::InvalidInput& refusal) {
        throw core::InvalidInput("name template " + core::json_quoted(core::shorten(text_, 200)) + ": " +
                                 refusal.what());
    }
}

RemotePath NameTemplate::path_of(const core::FeedKey& key) const {
    std::string path;
    for (const auto& part : parts_) {
        switch (part.piece) {
            case Piece::kLiteral:
                path += part.literal;
                break;
            case Piece::kEvent:
                path += key.event();
                break;
            case Piece::kFeedType:
                path += key.feed_type();
                break;
            case Piece::kFilter:
                path += key.filter();
                break;
            case Piece::kSlashFilter:
                if (!key.filter().empty()) path += "/" + key.filter();
                break;
        }
    }
    return RemotePath(std::move(path));
}

}  // namespace ftlfeed::deliver
