#pragma once

#include <string>
#include <vector>

#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/webhook_transport.hpp>

#include "webhook_client.hpp"

namespace ftl::test {

/// Lets everything through.
class OpenGuard final : public ftlfeed::deliver::SendGuard {
public:
    [[nodiscard]] ftlfeed::core::Deadline deadline() const override { return ftlfeed::core::Deadline::never(); }
    [[nodiscard]] bool may_publish() override { return may; }
    bool may = true;
};

/// To a port of this machine.
inline ftlfeed::deliver::WebhookTransport webhook_transport(int port, const ftlfeed::core::Clock& clock,
                                                            const std::vector<std::string>& secrets) {
    using namespace ftlfeed;
    deliver::WebhookTransport::Parts parts{{"http", "127.0.0.1", port, "/in"}, {7}, "acme/main", {}, "", {}};
    parts.secrets = [secrets](core::Deadline) {
        std::vector<deliver::SigningSecret> signing;
        for (const auto& secret : secrets) signing.push_back(deliver::SigningSecret::parse(core::Secret(secret)));
        return signing;
    };
    return {std::move(parts), deliver::HostFence({"127.0.0.1"}), clock};
}

/// One version of wc/calendar, whose parts live as long as it does.
class WebhookFile {
public:
    explicit WebhookFile(std::string body = "{}") : body_(std::move(body)) {}

    [[nodiscard]] ftlfeed::deliver::Outgoing outgoing(std::int64_t occasion = 0) const {
        ftlfeed::deliver::Outgoing file{{7}, key_, version_, occasion, {}, path_, {}};
        file.content.body = body_;
        file.content.content_type = "application/json";
        return file;
    }

private:
    std::string body_;
    ftlfeed::core::FeedKey key_ = ftlfeed::core::FeedKey::parse("wc/calendar");
    ftlfeed::core::Version version_{1000, 42, 1};
    ftlfeed::deliver::RemotePath path_{"wc/calendar.json"};
};

}  // namespace ftl::test
