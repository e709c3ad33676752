#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include <ftlfeed/serve/coding.hpp>

namespace ftlfeed::serve {

/// What a head says of one version of a file in one coding. Views are borrowed for the call.
struct HeadFacts {
    std::string_view etag;  ///< With its quotes; strong, and another one for each version and coding.
    std::string_view content_type;
    std::optional<std::time_t> last_modified;
    Coding coding = Coding::kPlain;
    std::uint64_t body_bytes = 0;
};

/// Heads of one version in one coding, made once and sent to everybody. Each lacks the lines that differ from answer to
/// answer (Date, Age, Connection) and the empty line at its end. A value.
struct AnswerHeads {
    std::string etag;
    std::string ok;            ///< 200
    std::string not_modified;  ///< 304
};
[[nodiscard]] AnswerHeads make_heads(const HeadFacts& facts);

/// An answer that is no file: the status line, its fields and a short JSON body. Made once for each status.
struct PlainAnswer {
    std::string head;  ///< Without Date, Connection and the empty line, as above.
    std::string body;  ///< `{"error":"…"}` and a line break
};

enum class PlainStatus : int {
    kBadRequest = 400,
    kUnauthorized = 401,
    kNotFound = 404,
    kMethodNotAllowed = 405,
    kNotAcceptable = 406,
    kRequestTimeout = 408,
    kGone = 410,
    kUriTooLong = 414,
    kHeadersTooLarge = 431,
    kInternalError = 500,
    kUnavailable = 503,
    kVersionNotSupported = 505,
};
[[nodiscard]] const PlainAnswer& plain_answer(PlainStatus status);

}  // namespace ftlfeed::serve
