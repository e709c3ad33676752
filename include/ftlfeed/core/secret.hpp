#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::core {

using Bytes = std::vector<std::uint8_t>;

/// A text that is never logged or shown: it has no operator<<, and its memory is wiped at the end.
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string text) : text_(std::move(text)) {}
    ~Secret();
    Secret(const Secret&) = default;
    Secret(Secret&& other) noexcept;
    /// Takes a copy, so that the old text is wiped whichever way the new one comes.
    Secret& operator=(Secret other) noexcept;

    /// The one way to its text: call it where it leaves the program, and nowhere else.
    [[nodiscard]] const std::string& reveal() const { return text_; }
    [[nodiscard]] bool is_empty() const { return text_.empty(); }

private:
    std::string text_;
};

/// Reads a secret from a file (one trailing newline dropped) or, for `credential:NAME`, from systemd's
/// $CREDENTIALS_DIRECTORY. Throws InvalidInput naming the path, never the content.
[[nodiscard]] Secret read_secret(const std::string& path);

/// AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce.
struct Sealed {
    Bytes nonce;
    Bytes ciphertext;  ///< The 16-byte tag is at its end.
};
/// `key` has 32 bytes. `associated` binds the text to its place (the row's id): it opens nowhere else.
[[nodiscard]] Sealed seal(const Secret& plain, std::span<const std::uint8_t> key, std::string_view associated);
/// Throws Failure::permanent when key, place or bytes do not fit.
[[nodiscard]] Secret unseal(const Sealed& sealed, std::span<const std::uint8_t> key, std::string_view associated);

/// A master key file: 32 bytes as 64 hex digits. Its id is the first 8 hex digits of its SHA-256.
struct MasterKey {
    std::string id;
    Bytes key;
};
[[nodiscard]] MasterKey read_master_key(const std::string& path);

}  // namespace ftlfeed::core
