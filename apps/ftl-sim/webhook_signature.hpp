#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ftlfeed::sim {

/// Checks signatures as a receiving client does, by the page of Standard Webhooks alone. Immutable.
class WebhookVerifier {
public:
    static constexpr std::int64_t kSkewSecondsMax = 300;

    /// Secrets as a client is given them: `whsec_` and base64. Throws UsageError.
    explicit WebhookVerifier(const std::vector<std::string>& secrets);

    struct Signed {
        std::string_view id;
        std::string_view timestamp;
        std::string_view signature;  ///< `v1,BASE64 v1,BASE64 …`
        std::string_view body;
    };
    /// Empty when it is good, else why it is not. `now` in seconds since 1970.
    [[nodiscard]] std::string complaint(const Signed& message, std::int64_t now) const;

private:
    std::vector<std::string> keys_;
};

}  // namespace ftlfeed::sim
