#include <ftlfeed/net/http_client.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include <ftlfeed/core/hash.hpp>

#include "net/curl_parts.hpp"

namespace ftlfeed::net {

using core::Failure;

namespace {

/// The URL without what may be secret: user, password, query.
std::string shown(const std::string& url) {
    auto text = url.substr(0, url.find_first_of("?#"));
    const auto scheme = text.find("://");
    const auto host = scheme == std::string::npos ? 0 : scheme + 3;
    const auto path = std::min(text.find('/', host), text.size());
    const auto at = text.substr(0, path).rfind('@');
    if (at != std::string::npos && at >= host) text.erase(host, at + 1 - host);
    return text;
}

}  // namespace

class HttpClient::Impl {
public:
    explicit Impl(HttpLimits limits) : limits_(limits), handle_(make_handle()) {
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connect.count()));
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits_.whole.count()));
    }

    HttpResponse get(const std::string& url, const std::vector<std::string>& headers) {
        Incoming incoming;
        incoming.body_bytes_max = limits_.body_bytes_max;
        HeaderList list;
        for (const auto& header : headers) append_header(list, header);
        // Unpacked by ourselves: libcurl takes a gzip stream that ends too early for a whole one.
        append_header(list, "Accept-Encoding: gzip");
        set(CURLOPT_URL, url.c_str());
        set(CURLOPT_HTTPHEADER, list.get());
        incoming.receive_from(handle_.get());
        const auto code = curl_easy_perform(handle_.get());
        set(CURLOPT_HTTPHEADER, static_cast<curl_slist*>(nullptr));  // The list goes away now.
        if (incoming.is_too_long) throw too_long(url);
        if (code != CURLE_OK) throw curl_failure(meant(code, url), "GET " + shown(url), false);
        // libcurl takes a connection that ends among the headers for an answer with an empty body.
        if (!incoming.are_headers_whole) throw curl_failure(CURLE_PARTIAL_FILE, "GET " + shown(url), false);
        long status = 0;
        curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
        incoming.response.status = static_cast<int>(status);
        unpack(incoming.response, url);
        return std::move(incoming.response);
    }

private:
    template <typename Value>
    void set(CURLoption option, Value value) {
        set_option(handle_.get(), option, value);
    }

    /// An answer that is no HTTP/1 comes as "unsupported protocol", as does a URL of another scheme.
    static CURLcode meant(CURLcode code, const std::string& url) {
        const bool is_http = url.starts_with("http://") || url.starts_with("https://");
        return code == CURLE_UNSUPPORTED_PROTOCOL && is_http ? CURLE_WEIRD_SERVER_REPLY : code;
    }

    [[nodiscard]] Failure too_long(const std::string& url) const {
        return Failure::permanent("GET " + shown(url) + ": the answer is longer than " +
                                  std::to_string(limits_.body_bytes_max) + " bytes, or has endless headers");
    }

    void unpack(HttpResponse& response, const std::string& url) const {
        const auto coding = response.headers.find("content-encoding");
        if (coding == response.headers.end() || response.body.empty()) return;
        const auto name = lower(coding->second);
        if (name.empty() || name == "identity") return;
        if (name != "gzip" && name != "x-gzip") {
            throw Failure::unavailable("GET " + shown(url) +
                                       ": the answer has a coding that nobody asked for: " + name);
        }
        try {
            response.body = core::gunzip(response.body, limits_.body_bytes_max);
        } catch (const Failure& failure) {
            // Cut on its way, most likely: the next answer may be whole.
            throw Failure::unavailable("GET " + shown(url) + ": " + failure.what());
        }
    }

    HttpLimits limits_;
    Handle handle_;
};

HttpClient::HttpClient(HttpLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

HttpResponse HttpClient::get(const std::string& url, const std::vector<std::string>& headers) {
    return impl_->get(url, headers);
}

}  // namespace ftlfeed::net
