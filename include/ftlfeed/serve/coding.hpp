#pragma once

#include <optional>
#include <string_view>

#include <ftlfeed/cache/document.hpp>

namespace ftlfeed::serve {

/// How a body goes over the wire. Each has an ETag of its own.
using cache::Coding;

/// What to send for an Accept-Encoding header: the coding with the greater q, gzip where they are equal. None when it
/// takes neither (406). No header or an empty one means plain bytes: a client that can unpack says so. A q that cannot be
/// read is 0. Source: RFC 9110, 12.5.3.
[[nodiscard]] std::optional<Coding> choose_coding(std::string_view accept_encoding) noexcept;

}  // namespace ftlfeed::serve
