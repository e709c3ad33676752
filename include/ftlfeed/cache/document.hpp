#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/version.hpp>

namespace ftlfeed::cache {

/// The fields of an entry but its version (v), which put_if_newer adds. Values are bytes.
using Fields = std::map<std::string, std::string>;

/// How a body is sent.
enum class Coding { kPlain, kGzip };

/// The strong ETag (RFC 9110, 8.8.3) of a version in a coding, quotes included: `"EPOCH-SEQ-RENDER"` for the plain body
/// and `"EPOCH-SEQ-RENDER-gzip"` for the packed one, since one ETag may not stand for two sequences of bytes.
[[nodiscard]] std::string etag(const core::Version& version, Coding coding);

/// A file's newest version as it lies in Redis. docs/cache.md has its fields. A value.
struct Document {
    core::Version version;
    std::string body_gz;           ///< Gzip; empty when it is retired.
    std::string content_type;      ///< Of the plain body.
    core::SystemTime changed_at;   ///< In whole microseconds.
    std::uint64_t body_bytes = 0;  ///< Of the plain body.
    std::string body_sha256;       ///< Of the plain body; 64 hex digits in lower case.
    bool is_retired = false;       ///< The file has ended: whoever asks for it is told so (410).
    /// In whole seconds, another one for each version, so that a client may ask by it (Last-Modified); `changed_at` cut to
    /// seconds may be the same for two. The clock's zero = not known: then nobody is answered "not modified" by a date.
    core::SystemTime last_modified{};

    /// What put_if_newer is given: etag, gz, type, at, bytes, sha and lm; or gone in the place of gz.
    [[nodiscard]] Fields fields() const;
    /// Reads what fetch() brought. Nothing when fields lack or are malformed: then the entry is of no use, and whoever
    /// finds it makes it anew. gz is not unpacked.
    [[nodiscard]] static std::optional<Document> from(const core::Version& version, Fields fields);

    bool operator==(const Document&) const = default;
};

}  // namespace ftlfeed::cache
