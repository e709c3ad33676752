#pragma once

#include <string>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/deliver/send_outcome.hpp>
#include <ftlfeed/net/http_client.hpp>

namespace ftlfeed::deliver {

/// What a webhook's answer means (docs/transports.md has the table). 2xx alone is a receipt. What concerns this file is
/// returned as Refused, 410 as Gone; the rest is the destination's trouble and thrown as core::Failure, with the
/// answer's Retry-After where it may be tried again. `target` names the receiver, `id` the message, `now` is the system
/// clock. Pure.
[[nodiscard]] SendOutcome webhook_answer(const net::HttpResponse& response, const std::string& target,
                                         const std::string& id, core::SystemTime now);

}  // namespace ftlfeed::deliver
