#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::core {

/// SHA-256 (FIPS 180-4) of `bytes`, 32 raw bytes.
[[nodiscard]] std::vector<std::uint8_t> sha256(std::string_view bytes);
/// Lower case.
[[nodiscard]] std::string hex(const std::vector<std::uint8_t>& bytes);
[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// Gzip (RFC 1952) with a fixed header, so that equal input gives equal bytes with one library version.
[[nodiscard]] std::string gzip(std::string_view plain);
/// Throws Failure::permanent when the bytes are no whole gzip member or would unpack to more than `bytes_max`.
[[nodiscard]] std::string gunzip(std::string_view packed, std::size_t bytes_max);

}  // namespace ftlfeed::core
