#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/deliver/destination_settings.hpp>
#include <ftlfeed/deliver/host_fence.hpp>
#include <ftlfeed/deliver/standard_webhook.hpp>
#include <ftlfeed/deliver/transport.hpp>
#include <ftlfeed/deliver/webhook_url.hpp>
#include <ftlfeed/net/http_post.hpp>

namespace ftlfeed::deliver {

/// Signed POSTs by Standard Webhooks. The body is the file's bytes as they are; `webhook-id` stays the same over all
/// attempts at one version and occasion, timestamp and signature are made anew for each. A 2xx is the receipt. A
/// receiver cannot be looked at: what is in doubt is sent again. A retired file is told by a small JSON message.
/// Guarantee: acknowledged. Receipt: `status=N webhook_id=ID`.
/// Threads: confined. Blocks until the earliest of its limits and the guard's deadline.
class WebhookTransport final : public Transport {
public:
    struct Parts {
        WebhookUrl url;
        AssignmentId assignment;
        std::string label;  ///< `CLIENT/NAME`, said in the message of test().
        SendLimits limits;
        std::string ca_file;  ///< Empty: the system's roots.
        /// Those that sign, the newest first. Called at the first send. Throws core::Failure or core::InvalidInput.
        std::function<std::vector<SigningSecret>(core::Deadline)> secrets;
    };
    /// Throws core::InvalidInput when the URL breaks a rule. Connects to nothing yet.
    WebhookTransport(Parts parts, HostFence fence, const core::Clock& clock);

    [[nodiscard]] SendOutcome put(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] SendOutcome remove(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] Look look(const Outgoing& file, SendGuard& guard) override;
    [[nodiscard]] SendOutcome test(SendGuard& guard) override;

private:
    struct Message {
        std::string id;
        std::string event;  ///< `version`, `retired` or `test`.
        std::string_view content_type;
        std::string_view body;
        std::vector<std::string> headers;  ///< Beside those that every message has.
    };
    [[nodiscard]] SendOutcome send(const Message& message, SendGuard& guard);
    [[nodiscard]] std::vector<std::string> headers_of(const Message& message, SendGuard& guard);

    Parts parts_;
    HostFence fence_;
    const core::Clock& clock_;
    net::HttpPoster poster_;
    std::vector<SigningSecret> secrets_;  ///< Empty: not asked for yet.
};

}  // namespace ftlfeed::deliver
