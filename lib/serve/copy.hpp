#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <ftlfeed/cache/document.hpp>
#include <ftlfeed/serve/answer_head.hpp>

namespace ftlfeed::serve {

/// A file's version as Redis or Postgres gave it. Shared by threads, since nobody changes it.
using DocumentPtr = std::shared_ptr<const cache::Document>;

/// One version in memory, with all that is sent of it made ready. Threads: confined to the loop that made it.
struct Copy {
    explicit Copy(DocumentPtr from);

    DocumentPtr document;
    std::string version;  ///< Text form.
    std::optional<std::time_t> last_modified;
    AnswerHeads gzip;
    AnswerHeads plain;
    /// Set once somebody asked for it; see PullCache::with_plain().
    std::shared_ptr<const std::string> plain_body;

    [[nodiscard]] const AnswerHeads& heads(Coding coding) const { return coding == Coding::kGzip ? gzip : plain; }
    [[nodiscard]] bool is_retired() const { return document->is_retired; }
    /// About what it takes of memory.
    [[nodiscard]] std::size_t bytes() const;
};
using CopyPtr = std::shared_ptr<Copy>;

}  // namespace ftlfeed::serve
