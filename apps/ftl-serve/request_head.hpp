#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <ftlfeed/serve/answer_head.hpp>
#include <ftlfeed/serve/conditional.hpp>
#include <ftlfeed/serve/presented_key.hpp>

namespace ftlfeed::app {

/// What a request says, as far as it matters here. Views are into the bytes that were read.
struct RequestHead {
    enum class Method { kGet, kHead, kOther };
    Method method = Method::kOther;
    std::string_view target;
    serve::KeyPlaces key;  ///< But its query.
    serve::Conditions conditions;
    std::string_view accept_encoding;
    bool is_kept_alive = false;
    /// Where a list came in several lines they are joined here.
    std::string joined_tags;
    std::string joined_codings;
};

struct HeadLimits {
    std::size_t bytes_max = 8192;  ///< From the first byte to the empty line.
    std::size_t fields_max = 64;
};

/// What became of reading. A value.
struct HeadResult {
    std::size_t bytes = 0;                      ///< Of the head; 0 = it is not there yet, or refused.
    std::optional<serve::PlainStatus> refusal;  ///< Answer this and close: what follows may be anything.
};

/// Reads the first request's head from `input`. Whatever two readers could understand differently is refused before it
/// means anything: a body or any Transfer-Encoding, two lengths or hosts, a folded line, a bare CR or LF, a NUL, a target
/// that is no path. Pure. Source: RFC 9112; docs/serve.md.
[[nodiscard]] HeadResult read_head(std::string_view input, const HeadLimits& limits, RequestHead& head);

}  // namespace ftlfeed::app
