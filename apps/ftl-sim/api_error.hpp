#pragma once

#include <string>

namespace ftlfeed::sim {

/// The provider's own error codes, sent in the body with HTTP 422.
enum class ApiCode : int {
    kIncludeNotAllowed = 5000,
    kIncludeNotFound = 5001,
    kInsufficientIncludes = 5002,
    kPaginationLimit = 5003,
    kQueryComplexity = 5004,
    kRateLimit = 5005,
    kInvalidQueryParameter = 5006,
    kInsufficientResources = 5007,
    kIncludeDepth = 5008,
    kFilterNotApplicable = 5010,
    kIncludeNotAvailable = 5013,
    kUnexpected = 9999,
};

/// A request that the provider refuses with a code of its own. `subject` is the include, parameter or filter meant.
struct ApiError {
    ApiCode code = ApiCode::kUnexpected;
    std::string subject;
};

/// `{"message", "link", "code"}`.
[[nodiscard]] std::string error_body(const ApiError& error);
/// `{"message"}`: what 401, 403, 404, 429 and 500 carry.
[[nodiscard]] std::string message_body(const std::string& message);

}  // namespace ftlfeed::sim
