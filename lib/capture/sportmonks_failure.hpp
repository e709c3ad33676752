#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/net/http_client.hpp>

#include "capture/sportmonks_parse.hpp"

namespace ftlfeed::capture {

constexpr std::chrono::seconds kLimitResetDefault{60};
constexpr std::chrono::seconds kLimitResetMin{1};  ///< "0 seconds" must not become a busy loop (B51).
constexpr std::chrono::seconds kLimitResetMax{3600};

/// The body of a response, read. Throws core::Failure when a success is no whole answer; an error's body may be anything
/// (a proxy's page), then there is none and the status alone has to tell.
[[nodiscard]] std::optional<SportmonksAnswer> read_body(const net::HttpResponse& response);

/// Why an answer is none, or nothing when it is one: the only reader of the provider's statuses and error codes.
/// `body`: as read_body() gave it. `resets_in`: what the last good answer told, less the time since. Pure.
/// Source: docs.sportmonks.com/v3/api/error-codes, …/rate-limit.
[[nodiscard]] std::optional<core::Failure> sportmonks_failure(const net::HttpResponse& response,
                                                              const std::optional<SportmonksAnswer>& body,
                                                              std::optional<std::chrono::seconds> resets_in);

}  // namespace ftlfeed::capture
