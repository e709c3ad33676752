#include <ftlfeed/deliver/standard_webhook.hpp>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <optional>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::deliver {
namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::size_t kKeyBytesMin = 24;
constexpr std::size_t kKeyBytesMax = 64;

std::string base64(const unsigned char* bytes, std::size_t size) {
    std::string text(4 * ((size + 2) / 3) + 1, '\0');  // EVP_EncodeBlock ends with a NUL.
    const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes, static_cast<int>(size));
    text.resize(static_cast<std::size_t>(length));
    return text;
}

/// Strict: the alphabet, padding at the end alone, and a length of whole groups.
std::optional<std::string> from_base64(std::string_view text) {
    const auto padding_at = text.find('=');
    const auto padding = padding_at == std::string_view::npos ? 0 : text.size() - padding_at;
    const auto body = text.substr(0, padding_at);
    constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (text.size() % 4 != 0 || padding > 2 || body.find_first_not_of(kAlphabet) != std::string_view::npos ||
        text.substr(text.size() - padding).find_first_not_of('=') != std::string_view::npos) {
        return std::nullopt;
    }
    std::string bytes(text.size() / 4 * 3, '\0');
    const int length =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (length < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(length) - padding);
    return bytes;
}

core::InvalidInput wrong_secret(const std::string& why) {
    return core::InvalidInput(
        "the signing secret " + why +
        "; it is whsec_ and the base64 of 24 to 64 random bytes: echo whsec_$(openssl rand -base64 32)");
}

}  // namespace

SigningSecret SigningSecret::parse(const core::Secret& text) {
    const std::string_view whole = text.reveal();
    if (!whole.starts_with(kPrefix)) throw wrong_secret("does not begin with whsec_");
    auto bytes = from_base64(whole.substr(kPrefix.size()));
    if (!bytes) throw wrong_secret("is no base64");
    core::Secret key(std::move(*bytes));
    const auto size = key.reveal().size();
    if (size < kKeyBytesMin || size > kKeyBytesMax) throw wrong_secret("has " + std::to_string(size) + " bytes");
    return SigningSecret(std::move(key));
}

std::string webhook_signature(const std::vector<SigningSecret>& secrets, std::string_view id, std::int64_t timestamp,
                              std::string_view body) {
    std::string signed_text(id);
    signed_text += "." + std::to_string(timestamp) + ".";
    signed_text += body;
    std::string header;
    for (const auto& secret : secrets) {
        const auto& key = secret.key().reveal();
        std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
        unsigned size = 0;
        if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                 reinterpret_cast<const unsigned char*>(signed_text.data()), signed_text.size(), hash.data(),
                 &size) == nullptr) {
            throw core::Failure::permanent("cannot sign: the hash does not work");
        }
        if (!header.empty()) header += ' ';
        header += "v1," + base64(hash.data(), size);
    }
    return header;
}

std::string webhook_id(AssignmentId assignment, const core::FeedKey& key, const core::Version& version,
                       std::int64_t occasion) {
    auto file = key.doc_key();
    std::replace(file.begin(), file.end(), '/', '~');
    return std::to_string(assignment.value) + "-" + file + "-" + std::to_string(version.epoch) + "-" +
           std::to_string(version.seq) + "-" + std::to_string(version.render) + "-" + std::to_string(occasion);
}

}  // namespace ftlfeed::deliver
