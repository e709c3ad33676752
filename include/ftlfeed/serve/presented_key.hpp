#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <ftlfeed/core/secret.hpp>

namespace ftlfeed::serve {

/// SHA-256 of a key: all that is stored and compared of it.
using KeyDigest = std::array<std::uint8_t, 32>;

/// Where a request may show its key; empty = not there. Views into the request.
struct KeyPlaces {
    std::string_view authorization;  ///< `Authorization`: `Bearer KEY`
    std::string_view x_api_key;      ///< `X-Api-Key`: `KEY`
    std::string_view query;          ///< `…&key=KEY&…`, for clients that cannot send headers
};

/// The key that a request shows; empty when it shows none. A header beats the query, `Authorization` beats `X-Api-Key`:
/// what a proxy of the client's adds must not be overruled by a link. A scheme other than Bearer is no key.
[[nodiscard]] std::string_view presented_key(const KeyPlaces& places) noexcept;

/// Longer ones are no key of ours and are not hashed.
inline constexpr std::size_t kKeyBytesMax = 256;

/// SHA-256 of a key's text. Cost: about 300 ns.
[[nodiscard]] KeyDigest key_digest(std::string_view key) noexcept;

/// A new key: 256 random bits as `ftl_` and 64 hex digits, so that people and scanners for secrets know what it is.
/// Throws core::Failure when the system gives no random bytes.
[[nodiscard]] core::Secret make_key();

}  // namespace ftlfeed::serve
