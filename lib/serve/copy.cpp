#include "serve/copy.hpp"

#include <chrono>
#include <utility>

namespace ftlfeed::serve {
namespace {

/// Heads, the entry in the map, and what an allocator adds.
constexpr std::size_t kOverheadBytes = 2048;

std::optional<std::time_t> seconds_of(const cache::Document& document) {
    if (document.last_modified == core::SystemTime{}) return std::nullopt;
    return std::chrono::system_clock::to_time_t(document.last_modified);
}

AnswerHeads heads_of(const cache::Document& document, Coding coding, std::optional<std::time_t> last_modified) {
    const auto etag = cache::etag(document.version, coding);
    const auto bytes = coding == Coding::kGzip ? document.body_gz.size() : document.body_bytes;
    return make_heads({etag, document.content_type, last_modified, coding, bytes});
}

}  // namespace

Copy::Copy(DocumentPtr from)
    : document(std::move(from)),
      version(document->version.text()),
      last_modified(seconds_of(*document)),
      gzip(heads_of(*document, Coding::kGzip, last_modified)),
      plain(heads_of(*document, Coding::kPlain, last_modified)) {}

std::size_t Copy::bytes() const {
    return document->body_gz.size() + (plain_body ? plain_body->size() : 0) + kOverheadBytes;
}

}  // namespace ftlfeed::serve
