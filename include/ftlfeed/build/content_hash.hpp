#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::build {

/// What decides whether a file changed: SHA-256 of the body without the members at `volatile_pointers` (RFC 6901); of
/// the bytes as they are when there are none. A pointer that leads nowhere is passed over. Numbers count as written
/// (1.0 is not 1), white space does not. Pure.
/// Throws core::Failure::permanent when there are pointers and the body is no JSON or a pointer is none.
[[nodiscard]] std::vector<std::uint8_t> content_hash(std::string_view body,
                                                     std::span<const std::string> volatile_pointers);

}  // namespace ftlfeed::build
