#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/deadline.hpp>
#include <ftlfeed/net/http_client.hpp>

namespace ftlfeed::net {

/// A POST that is slower than its minimum over such a window is given up.
constexpr std::chrono::seconds kSpeedWindow{5};

struct PostLimits {
    std::chrono::milliseconds connect{10'000};  ///< DNS and TLS included.
    std::chrono::milliseconds bytes{60'000};    ///< From the first byte to the last of the body.
    std::chrono::milliseconds reply{120'000};   ///< From the last byte of the body to the whole answer.
    std::int64_t bytes_per_second_min = 1024;   ///< While the body goes out; 0 = no minimum.
    std::chrono::seconds idle{30};              ///< A connection that was idle for longer is not used again.
    std::size_t answer_bytes_max = std::size_t{1} << 20;
    std::string ca_file;  ///< PEM file with the roots that count; empty: the system's.
};

struct PostRequest {
    std::string url;
    std::string target;                ///< Names the receiver in failures: it must hold no secret.
    std::vector<std::string> headers;  ///< "Name: value" lines. Throws core::InvalidInput for one with a line break.
    std::string_view body;
};

/// What is asked while a POST runs, on the calling thread. None may throw.
struct PostHooks {
    /// May we connect to this numeric address? Asked for each address that a name resolved to, before the connect.
    std::function<bool(const std::string& address)> may_connect;
    /// By when it must be over. Asked again and again: it may move.
    std::function<core::Deadline()> deadline;
    /// Asked when the connection stands, right before the first byte of the request.
    std::function<bool()> may_send;
};

/// POSTs on one keep-alive connection. No redirects, no proxy, http and https alone, TLS 1.2 or newer with the peer
/// verified. Threads: confined. Blocks until the earliest of its limits and the deadline.
class HttpPoster {
public:
    explicit HttpPoster(PostLimits limits, const core::Clock& clock = core::Clock::real());
    ~HttpPoster();
    HttpPoster(HttpPoster&&) noexcept;
    HttpPoster& operator=(HttpPoster&&) noexcept;

    /// Any status is an answer. None when may_send() said no: nothing went out. Throws Failure: in_doubt() exactly when
    /// the last byte of the body was handed over and no whole answer came; permanent() when no address of the host may
    /// be connected to, or the peer cannot prove who it is. Retry safe: as the receiver is.
    [[nodiscard]] std::optional<HttpResponse> post(const PostRequest& request, const PostHooks& hooks);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// The answer's Retry-After: seconds or a date (RFC 9110, 10.2.3), the latter by the answer's own Date where it has one.
/// Between a second and a day; what cannot be read is none. Pure.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_after(const HttpResponse& response, core::SystemTime now);

}  // namespace ftlfeed::net
