#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/deliver/assignment_id.hpp>
#include <ftlfeed/deliver/credential.hpp>
#include <ftlfeed/deliver/pace.hpp>
#include <ftlfeed/deliver/send_deadline.hpp>
#include <ftlfeed/deliver/send_decision.hpp>

namespace ftlfeed::deliver {

/// A destination as a person set it up: a row of `delivery_assignment` (docs/deliver.md). A value.
struct DestinationSettings {
    AssignmentId id;
    std::string label;  ///< `CLIENT/NAME`, for people: logs, alerts, metrics.
    std::string transport;
    std::string host;
    std::optional<int> port;
    int database_number = 0;  ///< Of a Redis.
    std::string folder;
    std::string url_scheme;  ///< `https` or `http`, for a webhook.
    std::string url_path;    ///< With its query, for a webhook.
    std::string name_template;
    std::optional<std::vector<std::string>> events;      ///< None: all.
    std::optional<std::vector<std::string>> feed_types;  ///< None: all.
    OnRetire on_retire = OnRetire::kKeep;
    std::int64_t render = 1;  ///< Grows with every change of what is sent or how it is named.
    SendLimits limits;
    Pace pace;
    std::vector<StoredCredential> credentials;
    int alert_failures = 3;                          ///< Failures in a row that raise an alert.
    std::chrono::milliseconds alert_behind{60'000};  ///< Age of the oldest unsent change that raises one.

    [[nodiscard]] bool wants(const core::FeedKey& key) const;
    /// Names the receiver: what was proven for another target is not there.
    [[nodiscard]] std::string target() const;

    bool operator==(const DestinationSettings&) const = default;
};

}  // namespace ftlfeed::deliver
