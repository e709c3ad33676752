#include "capture/sportmonks_failure.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace ftlfeed::capture {
namespace {

constexpr int kOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kTooManyRequests = 429;
constexpr int kServerErrorMin = 500;
constexpr std::int64_t kRateLimitCode = 5005;
constexpr std::int64_t kUnexpectedCode = 9999;

std::optional<std::chrono::seconds> retry_after_header(const net::HttpResponse& response) {
    const auto header = response.headers.find("retry-after");
    if (header == response.headers.end()) return std::nullopt;
    const std::string_view text = header->second;
    int seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    // Its other form is a date on the provider's clock, which we do not compare with ours.
    if (error != std::errc{} || end != text.data() + text.size() || seconds < 0) return std::nullopt;
    return std::chrono::seconds(seconds);
}

}  // namespace

std::optional<SportmonksAnswer> read_body(const net::HttpResponse& response) {
    if (response.status == kOk) return parse_answer(response.body);
    try {
        return parse_answer(response.body);
    } catch (const core::Failure&) {
        return std::nullopt;  // It is an error all the same: its status says which.
    }
}

std::optional<core::Failure> sportmonks_failure(const net::HttpResponse& response,
                                                const std::optional<SportmonksAnswer>& body,
                                                std::optional<std::chrono::seconds> resets_in) {
    const auto code = body ? body->error_code : std::nullopt;
    const std::string message = body ? body->message : "";
    if (response.status == kOk && body && (body->has_data || !code)) return std::nullopt;
    auto what = "the provider answered " + std::to_string(response.status);
    if (code) what += ", code " + std::to_string(*code);
    if (!message.empty()) what += ": " + message;
    const auto native = std::to_string(code.value_or(response.status));

    if (response.status == kTooManyRequests || code == kRateLimitCode) {
        auto wait = retry_after_header(response);
        if (!wait && body) wait = body->limit_resets_in;
        if (!wait) wait = resets_in;
        const auto bounded = std::clamp(wait.value_or(kLimitResetDefault), kLimitResetMin, kLimitResetMax);
        return core::Failure::busy(what).with_native_code(native).with_retry_after(bounded);
    }
    const bool is_theirs = response.status >= kServerErrorMin || code == kUnexpectedCode;
    const bool is_odd = !code && response.status < 400;  // A redirect, or a success without an answer.
    if (is_theirs || is_odd) return core::Failure::unavailable(what).with_native_code(native);
    const bool is_token = response.status == kUnauthorized || response.status == kForbidden;
    if (is_token) what += " (is the token right, and does its plan cover this?)";
    return core::Failure::permanent(what).with_native_code(native);
}

}  // namespace ftlfeed::capture
