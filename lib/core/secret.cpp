#include <ftlfeed/core/secret.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include <ftlfeed/core/assert.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::core {

namespace {

constexpr std::size_t kSecretBytesMax = std::size_t{64} << 10U;
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kKeyIdDigits = 8;

/// The whole capacity, not only the size: a moved-from or shortened string still holds its old bytes.
void wipe(std::string& text) noexcept {
    text.resize(text.capacity());
    OPENSSL_cleanse(text.data(), text.size());
    text.clear();
}

std::string secret_path(const std::string& path) {
    constexpr std::string_view kScheme = "credential:";
    if (!path.starts_with(kScheme)) return path;
    const auto name = path.substr(kScheme.size());
    const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
    if (folder == nullptr) {
        throw InvalidInput(path +
                           ": systemd gave no credentials (CREDENTIALS_DIRECTORY is not set; see LoadCredential=)");
    }
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
        throw InvalidInput(path + ": a credential's name is one file name");
    }
    return std::string(folder) + '/' + name;
}

struct FreeContext {
    void operator()(EVP_CIPHER_CTX* it) const { EVP_CIPHER_CTX_free(it); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

int as_int(std::size_t size) {
    FTL_ASSERT(size <= kSecretBytesMax + kTagBytes);
    return static_cast<int>(size);
}

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

Secret::~Secret() { wipe(text_); }

Secret::Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { wipe(other.text_); }

Secret& Secret::operator=(Secret other) noexcept {
    text_.swap(other.text_);
    return *this;
}

Secret read_secret(const std::string& path) {
    std::ifstream file(secret_path(path), std::ios::binary);
    std::string text(kSecretBytesMax + 1, '\0');
    if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
    const auto size = static_cast<std::size_t>(file.gcount());
    const bool failed = !file.is_open() || file.bad() || (file.fail() && !file.eof());
    if (failed) wipe(text);
    if (failed) throw InvalidInput("cannot read the secret in " + path);
    if (size > kSecretBytesMax) {
        wipe(text);
        throw InvalidInput("the secret in " + path + " is longer than 64 KiB");
    }
    const auto end = size > 0 && text[size - 1] == '\n' ? size - 1 : size;
    Secret secret(text.substr(0, end));
    wipe(text);
    return secret;
}

Sealed seal(const Secret& plain, std::span<const std::uint8_t> key, std::string_view associated) {
    FTL_ASSERT(key.size() == kKeyBytes);
    const auto& text = plain.reveal();
    Sealed sealed{Bytes(kNonceBytes), Bytes(text.size() + kTagBytes)};
    const Context context(EVP_CIPHER_CTX_new());
    int length = 0;
    const bool done =
        context && RAND_bytes(sealed.nonce.data(), as_int(kNonceBytes)) == 1 &&
        EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), sealed.nonce.data()) == 1 &&
        EVP_EncryptUpdate(context.get(), nullptr, &length, bytes_of(associated), as_int(associated.size())) == 1 &&
        EVP_EncryptUpdate(context.get(), sealed.ciphertext.data(), &length, bytes_of(text), as_int(text.size())) == 1 &&
        EVP_EncryptFinal_ex(context.get(), sealed.ciphertext.data() + length, &length) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, as_int(kTagBytes),
                            sealed.ciphertext.data() + text.size()) == 1;
    if (!done) throw Failure::permanent("cannot encrypt: the cipher or the source of random numbers does not work");
    return sealed;
}

Secret unseal(const Sealed& sealed, std::span<const std::uint8_t> key, std::string_view associated) {
    const auto refuse = [] { return Failure::permanent("cannot decrypt: key, place or bytes do not fit"); };
    if (key.size() != kKeyBytes || sealed.nonce.size() != kNonceBytes || sealed.ciphertext.size() < kTagBytes ||
        sealed.ciphertext.size() > kSecretBytesMax + kTagBytes) {
        throw refuse();
    }
    const auto size = sealed.ciphertext.size() - kTagBytes;
    Bytes tag(sealed.ciphertext.end() - static_cast<std::ptrdiff_t>(kTagBytes), sealed.ciphertext.end());
    std::string text(size, '\0');
    auto* out = reinterpret_cast<std::uint8_t*>(text.data());
    const Context context(EVP_CIPHER_CTX_new());
    int length = 0;
    const bool done =
        context &&
        EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), sealed.nonce.data()) == 1 &&
        EVP_DecryptUpdate(context.get(), nullptr, &length, bytes_of(associated), as_int(associated.size())) == 1 &&
        EVP_DecryptUpdate(context.get(), out, &length, sealed.ciphertext.data(), as_int(size)) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, as_int(kTagBytes), tag.data()) == 1 &&
        EVP_DecryptFinal_ex(context.get(), out + length, &length) == 1;
    if (!done) {
        wipe(text);
        throw refuse();
    }
    Secret secret(text);
    wipe(text);
    return secret;
}

MasterKey read_master_key(const std::string& path) {
    const auto digits = read_secret(path);
    const auto& text = digits.reveal();
    MasterKey key;
    key.key.reserve(kKeyBytes);
    for (std::size_t i = 0; i + 1 < text.size() && key.key.size() <= kKeyBytes; i += 2) {
        const int high = hex_digit(text[i]);
        const int low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0) break;
        key.key.push_back(static_cast<std::uint8_t>(high * 16 + low));
    }
    if (text.size() != 2 * kKeyBytes || key.key.size() != kKeyBytes) {
        throw InvalidInput("the master key in " + path + " is not 64 hex digits; make one with: openssl rand -hex 32");
    }
    const std::string_view raw(reinterpret_cast<const char*>(key.key.data()), key.key.size());
    key.id = sha256_hex(raw).substr(0, kKeyIdDigits);
    return key;
}

}  // namespace ftlfeed::core
