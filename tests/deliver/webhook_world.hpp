#pragma once

#include <set>
#include <string>
#include <vector>

#include <ftlfeed/core/secret.hpp>
#include <ftlfeed/deliver/credential.hpp>

#include "webhook_client.hpp"
#include "world.hpp"

namespace ftl::test {

/// A world with a master key, whose dispatchers may send to this machine.
class WebhookWorld : public DeliverWorld {
public:
    WebhookWorld() { write_file(temp / "key", std::string(64, 'a') + "\n"); }

    [[nodiscard]] std::string key_file() const { return (temp / "key").string(); }
    [[nodiscard]] ftlfeed::deliver::DeliverSettings settings() const {
        auto settings = quick_settings();
        settings.allowed_hosts = {"127.0.0.1"};
        settings.master_key_file = key_file();
        return settings;
    }

    /// A webhook at 127.0.0.1 that signs by `kWebhookSecret`. Returns its id.
    std::int64_t add_webhook(const std::string& name, int port, const std::string& more_columns = "",
                             const std::string& more_values = "") const {
        const auto id = std::stoll(
            db.value("INSERT INTO delivery_assignment (client_id, name, transport, host, port, url_scheme, url_path, "
                     "first_retry_ms, slow_retry_ms, fast_retries_max" +
                     more_columns + ") VALUES ((SELECT id FROM delivery_client WHERE code = 'acme'), '" + name +
                     "', 'webhook', '127.0.0.1', " + std::to_string(port) +
                     ", 'http', '/in?token=hunter2', 20, 100, 16" + more_values + ") RETURNING id"));
        put_secret(id, ftlfeed::deliver::kSigningSecret, kWebhookSecret);
        return id;
    }
    void put_secret(std::int64_t id, const std::string& kind, const std::string& secret) const {
        using namespace ftlfeed;
        store::Session session(connection());
        deliver::put_credential(session, deliver::AssignmentId{id}, kind, core::Secret(secret),
                                core::read_master_key(key_file()));
    }
    [[nodiscard]] std::int64_t attempts(const std::string& outcome) const { return proofs(outcome); }
    [[nodiscard]] std::int64_t open_alerts(const std::string& kind) const {
        return count("alert WHERE cleared_at IS NULL AND kind = '" + kind + "'");
    }
};

inline std::set<std::string> ids_of(const std::vector<WebhookSeen>& requests) {
    std::set<std::string> ids;
    for (const auto& request : requests) ids.insert(request.id);
    return ids;
}

}  // namespace ftl::test
