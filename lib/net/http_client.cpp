#include <ftlfeed/net/http_client.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include <ftlfeed/core/hash.hpp>

namespace ftlfeed::net {

using core::Failure;

namespace {

struct FreeHandle {
    void operator()(CURL* it) const { curl_easy_cleanup(it); }
};
struct FreeList {
    void operator()(curl_slist* it) const { curl_slist_free_all(it); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

void start_libcurl() {
    static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (kStarted != CURLE_OK) throw Failure::permanent("libcurl does not start");
}

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

void append_header(HeaderList& list, const std::string& line) {
    if (line.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
        throw core::InvalidInput("a request header holds a line break");
    }
    auto* longer = curl_slist_append(list.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    static_cast<void>(list.release());
    list.reset(longer);
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// What comes in, kept while a transfer runs.
struct Incoming {
    HttpResponse response;
    std::size_t body_bytes_max = 0;
    bool is_too_long = false;
    bool are_headers_whole = false;
};

// The two callbacks are called from C: nothing may be thrown out of them. Less than the whole size ends the transfer.
std::size_t take_body(char* bytes, std::size_t /*one*/, std::size_t size, void* context) noexcept {
    auto& incoming = *static_cast<Incoming*>(context);
    try {
        incoming.is_too_long = incoming.response.body.size() + size > incoming.body_bytes_max;
        if (incoming.is_too_long) return 0;
        incoming.response.body.append(bytes, size);
        return size;
    } catch (const std::exception&) {
        return 0;  // Out of memory: the transfer ends as a failed write.
    }
}

std::size_t take_header(char* bytes, std::size_t /*one*/, std::size_t size, void* context) noexcept {
    auto& incoming = *static_cast<Incoming*>(context);
    auto& headers = incoming.response.headers;
    const std::string_view line(bytes, size);
    if (line == "\r\n" || line == "\n") incoming.are_headers_whole = true;
    try {
        // An answer before the answer (100, 103): only the last one's headers count.
        if (line.starts_with("HTTP/")) {
            headers.clear();
            incoming.are_headers_whole = false;
        }
        const auto colon = line.find(':');
        if (colon != std::string_view::npos) headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
        return size;
    } catch (const std::exception&) {
        return 0;
    }
}

}  // namespace

class HttpClient::Impl {
public:
    explicit Impl(HttpLimits limits) : limits_(limits) {
        start_libcurl();
        handle_.reset(curl_easy_init());
        if (!handle_) throw std::bad_alloc();
        // Signals and resolver threads are the process's business; a name server that is silent must not hold up its end.
        set(CURLOPT_NOSIGNAL, 1L);
        set(CURLOPT_QUICK_EXIT, 1L);
        set(CURLOPT_PROXY, "");
        set(CURLOPT_PROTOCOLS_STR, "http,https");
        set(CURLOPT_FOLLOWLOCATION, 0L);
        set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connect.count()));
        set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits_.whole.count()));
        set(CURLOPT_USERAGENT, "ftlfeed/" FTL_VERSION);
        set(CURLOPT_WRITEFUNCTION, &take_body);
        set(CURLOPT_HEADERFUNCTION, &take_header);
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
        set(CURLOPT_WRITEDATA, &incoming);
        set(CURLOPT_HEADERDATA, &incoming);
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
        const auto code = curl_easy_setopt(handle_.get(), option, value);
        if (code != CURLE_OK) throw curl_failure(code, "libcurl option " + std::to_string(option), false);
    }

    /// An answer that is no HTTP/1 comes as "unsupported protocol", as does a URL of another scheme.
    static CURLcode meant(CURLcode code, const std::string& url) {
        const bool is_http = url.starts_with("http://") || url.starts_with("https://");
        return code == CURLE_UNSUPPORTED_PROTOCOL && is_http ? CURLE_WEIRD_SERVER_REPLY : code;
    }

    [[nodiscard]] Failure too_long(const std::string& url) const {
        return Failure::permanent("GET " + shown(url) + ": the answer is longer than " +
                                  std::to_string(limits_.body_bytes_max) + " bytes");
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
    std::unique_ptr<CURL, FreeHandle> handle_;
};

HttpClient::HttpClient(HttpLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

HttpResponse HttpClient::get(const std::string& url, const std::vector<std::string>& headers) {
    return impl_->get(url, headers);
}

}  // namespace ftlfeed::net
