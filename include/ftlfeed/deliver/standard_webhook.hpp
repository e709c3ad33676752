#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/core/version.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>

// Standard Webhooks, symmetric signatures. Source: github.com/standard-webhooks/standard-webhooks,
// spec/standard-webhooks.md. Pure.
namespace ftlfeed::deliver {

/// A secret that signs: `whsec_` and the base64 of 24 to 64 random bytes.
class SigningSecret {
public:
    /// Throws core::InvalidInput that says what is wrong and never the text.
    static SigningSecret parse(const core::Secret& text);

    /// The raw key.
    [[nodiscard]] const core::Secret& key() const { return key_; }

private:
    explicit SigningSecret(core::Secret key) : key_(std::move(key)) {}
    core::Secret key_;
};

/// `v1,BASE64` of HMAC-SHA256 over `id.timestamp.body`, one for each secret, joined by a blank: while a secret is being
/// replaced the receiver may know either. `timestamp` is in seconds since 1970, of this attempt.
[[nodiscard]] std::string webhook_signature(const std::vector<SigningSecret>& secrets, std::string_view id,
                                            std::int64_t timestamp, std::string_view body);

/// `ASSIGNMENT-FILE-EPOCH-SEQ-RENDER-OCCASION`, FILE being the doc_key with `~` for `/`. The same for each attempt at one
/// version and occasion: receivers drop repetitions by it. It holds no dot, since the signed text is joined by dots.
[[nodiscard]] std::string webhook_id(AssignmentId assignment, const core::FeedKey& key, const core::Version& version,
                                     std::int64_t occasion);

}  // namespace ftlfeed::deliver
