#include "webhook_signature.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <cstdlib>
#include <optional>

#include "command.hpp"
#include "parsing.hpp"

namespace ftlfeed::sim {
namespace {

std::optional<std::string> decoded(std::string_view text) {
    if (text.empty() || text.size() % 4 != 0) return std::nullopt;
    std::string bytes(text.size() / 4 * 3, '\0');
    const int size =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (size < 0) return std::nullopt;
    const auto padding = text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    return bytes;
}

std::string keyed_hash(const std::string& key, const std::string& text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), hash.data(), &size);
    return {reinterpret_cast<const char*>(hash.data()), size};
}

bool is_one_of(const std::string& hash, std::string_view signatures) {
    bool is_found = false;
    while (!signatures.empty()) {
        const auto one = take_until(signatures, " ");
        if (!one.starts_with("v1,")) continue;
        const auto theirs = decoded(one.substr(3));
        is_found |=
            theirs && theirs->size() == hash.size() && CRYPTO_memcmp(theirs->data(), hash.data(), hash.size()) == 0;
    }
    return is_found;
}

}  // namespace

WebhookVerifier::WebhookVerifier(const std::vector<std::string>& secrets) {
    constexpr std::string_view kPrefix = "whsec_";
    for (const auto& secret : secrets) {
        const auto key =
            secret.starts_with(kPrefix) ? decoded(std::string_view(secret).substr(kPrefix.size())) : std::nullopt;
        if (!key) throw UsageError("a line of the secrets' file is not whsec_ and base64");
        keys_.push_back(*key);
    }
}

std::string WebhookVerifier::complaint(const Signed& message, std::int64_t now) const {
    if (message.id.empty() || message.timestamp.empty() || message.signature.empty()) return "a header is missing";
    const auto at = whole_number<std::int64_t>(message.timestamp);
    if (!at) return "the timestamp is no number";
    if (std::abs(now - *at) > kSkewSecondsMax) return "the timestamp is too far from now";
    std::string text(message.id);
    text += '.';
    text += message.timestamp;
    text += '.';
    text += message.body;
    for (const auto& key : keys_) {
        if (is_one_of(keyed_hash(key, text), message.signature)) return "";
    }
    return "no signature fits";
}

}  // namespace ftlfeed::sim
