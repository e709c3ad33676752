#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "received_log.hpp"
#include "webhook_script.hpp"
#include "webhook_signature.hpp"

namespace ftlfeed::sim {

struct WebhookReceiverSettings {
    std::string log;                   ///< Appended to, one JSON object a line.
    std::string store;                 ///< Folder for the bodies, one file for each ftl-file; empty: none are kept.
    std::vector<std::string> secrets;  ///< `whsec_…`; empty: signatures are not checked.
    WebhookScript script;
};

/// A request as it came.
struct WebhookRequest {
    std::string method;
    std::string id;
    std::string timestamp;
    std::string signature;
    std::string file;
    std::string version;
    std::string event;
    std::string body;
};

/// What a webhook's receiver makes of requests: it checks, keeps, logs, and says what to answer. The body and its line
/// are on the disk before it says so.
/// Threads: confined to one.
class WebhookReceiver {
public:
    /// Throws std::runtime_error, UsageError.
    explicit WebhookReceiver(const WebhookReceiverSettings& settings);

    /// What the next request will meet: counted when its head is there.
    [[nodiscard]] WebhookPlan next();
    /// Counts from 1 again under another script.
    void set_script(WebhookScript script);

    /// Takes a request that was read whole. Returns the status to answer with. Throws std::runtime_error when the disk
    /// does not take it.
    int take(const WebhookRequest& request, const WebhookPlan& plan);
    /// Logs a request whose body was not read.
    void note_unread(const WebhookRequest& request, const WebhookPlan& plan);

private:
    [[nodiscard]] int deserved(const WebhookRequest& request, const std::string& complaint) const;
    void keep(const WebhookRequest& request) const;

    WebhookScript script_;
    std::uint64_t requests_ = 0;
    std::string store_;
    bool checks_signatures_;
    WebhookVerifier verifier_;
    ReceivedLog log_;
    std::set<std::string> taken_;  ///< Ids that were answered with a 2xx.
};

}  // namespace ftlfeed::sim
