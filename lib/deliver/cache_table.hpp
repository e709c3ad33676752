#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/cache/document.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/store/session.hpp>

namespace ftlfeed::deliver {

/// Our built-in destination, when this process is the one that sends to it.
struct OurCache {
    std::int64_t render = 0;
    std::int64_t epoch = 0;
};
/// None: it is off, another process's, or nobody's yet.
[[nodiscard]] std::optional<OurCache> our_cache(store::Session& session);

/// What the record says of one instrument's total.
struct TotalRow {
    std::int64_t instrument_id = 0;
    core::Version version;
    std::int64_t total = 0;
};
[[nodiscard]] std::vector<TotalRow> read_totals(store::Session& session);

/// What the record says of one document, without its body.
struct DocumentRow {
    std::string doc_key;
    core::Version version;
};
[[nodiscard]] std::vector<DocumentRow> read_document_versions(store::Session& session, std::int64_t render);

/// A document whole, as it is to lie in the cache.
struct StoredDocument {
    std::string doc_key;
    cache::Document content;
};
[[nodiscard]] std::vector<StoredDocument> load_documents(store::Session& session,
                                                         const std::vector<std::string>& doc_keys, std::int64_t render);

}  // namespace ftlfeed::deliver
