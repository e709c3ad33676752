#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::net {

struct HttpLimits {
    std::chrono::milliseconds connect{3000};  ///< DNS included.
    std::chrono::milliseconds whole{8000};
    std::size_t body_bytes_max = std::size_t{64} << 20;
};

struct HttpResponse {
    int status = 0;
    std::map<std::string, std::string> headers;  ///< Names in lower case; the last one of a name wins.
    std::string body;                            ///< Unpacked when it came as gzip.
};

/// One keep-alive connection for GETs on a libcurl easy handle. Redirects are not followed, proxies from the
/// environment are not used, only http and https are spoken. Threads: confined.
class HttpClient {
public:
    explicit HttpClient(HttpLimits limits);
    ~HttpClient();
    HttpClient(HttpClient&&) noexcept;
    HttpClient& operator=(HttpClient&&) noexcept;

    /// Any status is an answer. Throws Failure (by curl_failure) when there was none, whole or in part: a body cut
    /// short is no answer. `headers` are "Name: value" lines and may hold secrets: they are never logged. Retry safe:
    /// yes.
    [[nodiscard]] HttpResponse get(const std::string& url, const std::vector<std::string>& headers);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// What a transfer that got no answer throws; `code` is a CURLcode. The one reader of CURLcodes, with a table test.
/// `target` is shown: it must hold no secret. `body_sent`: all of a request with an effect went out, so only the
/// receiver knows.
[[nodiscard]] core::Failure curl_failure(int code, const std::string& target, bool body_sent);

}  // namespace ftlfeed::net
