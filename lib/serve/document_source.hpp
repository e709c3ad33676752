#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <ftlfeed/core/failure.hpp>

#include "serve/copy.hpp"

namespace ftlfeed::serve {

/// Redis as the pull cache sees it. Threads: confined to the loop. Handlers are called once each, from the loop and never
/// inside the call that took them.
class DocumentSource {
public:
    /// The text of the version; none when the key is not there or holds nothing of ours.
    using VersionResult = std::variant<std::optional<std::string>, core::Failure>;
    /// Null when the key is not there or holds nothing of ours.
    using DocumentResult = std::variant<DocumentPtr, core::Failure>;

    virtual ~DocumentSource() = default;
    /// Returns whether the question has been handed to the socket: false until then, true for ever after.
    virtual std::shared_ptr<const bool> version(const std::string& doc_key,
                                                std::function<void(VersionResult)> handler) = 0;
    virtual void fetch(const std::string& doc_key, std::function<void(DocumentResult)> handler) = 0;
};

}  // namespace ftlfeed::serve
