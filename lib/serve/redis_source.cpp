#include "serve/redis_source.hpp"

#include <utility>

#include <ftlfeed/cache/keys.hpp>

#include "cache/version_text.hpp"

namespace ftlfeed::serve {
namespace {

std::string redis_key(const std::string& doc_key) { return std::string(cache::Key::kDocumentPrefix) + doc_key; }

DocumentSource::VersionResult version_of(cache::ReplyResult result) {
    if (auto* failure = std::get_if<core::Failure>(&result)) return std::move(*failure);
    auto& reply = std::get<cache::Reply>(result);
    // What is no version is none of ours and counts as missing, as in the script that writes.
    if (!reply.is_text() || !cache::version_in(reply.text)) return std::nullopt;
    return std::move(reply.text);
}

/// Names and values in turns.
DocumentPtr document_of(cache::Reply reply) {
    cache::Fields fields;
    for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
        fields.insert_or_assign(std::move(reply.elements[i].text), std::move(reply.elements[i + 1].text));
    }
    const auto version = cache::version_in(fields["v"]);
    if (!version) return nullptr;
    auto document = cache::Document::from(*version, std::move(fields));
    return document ? std::make_shared<const cache::Document>(std::move(*document)) : nullptr;
}

}  // namespace

std::shared_ptr<const bool> RedisSource::version(const std::string& doc_key,
                                                 std::function<void(VersionResult)> handler) {
    return questions_.request(
        cache::Command::reading({"HGET", redis_key(doc_key), "v"}), limits_.check,
        [handler = std::move(handler)](cache::ReplyResult result) { handler(version_of(std::move(result))); });
}

void RedisSource::fetch(const std::string& doc_key, std::function<void(DocumentResult)> handler) {
    bodies_.request(cache::Command::reading({"HGETALL", redis_key(doc_key)}), limits_.fetch,
                    [handler = std::move(handler)](cache::ReplyResult result) {
                        if (auto* failure = std::get_if<core::Failure>(&result)) return handler(*failure);
                        handler(document_of(std::move(std::get<cache::Reply>(result))));
                    });
}

}  // namespace ftlfeed::serve
