#include "net/curl_parts.hpp"

#include <algorithm>
#include <exception>
#include <new>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::net {
namespace {

constexpr std::size_t kHeaderBytesMax = std::size_t{256} << 10;

void start_libcurl() {
    static const CURLcode kStarted = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (kStarted != CURLE_OK) throw core::Failure::permanent("libcurl does not start");
}

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

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
    incoming.header_bytes += size;
    incoming.is_too_long = incoming.header_bytes > kHeaderBytesMax;
    if (incoming.is_too_long) return 0;
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

Handle make_handle() {
    start_libcurl();
    Handle handle(curl_easy_init());
    if (!handle) throw std::bad_alloc();
    // Signals and resolver threads are the process's business; a name server that is silent must not hold up its end.
    set_option(handle.get(), CURLOPT_NOSIGNAL, 1L);
    set_option(handle.get(), CURLOPT_QUICK_EXIT, 1L);
    set_option(handle.get(), CURLOPT_PROXY, "");
    set_option(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
    set_option(handle.get(), CURLOPT_FOLLOWLOCATION, 0L);
    set_option(handle.get(), CURLOPT_USERAGENT, "ftlfeed/" FTL_VERSION);
    return handle;
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

void Incoming::receive_from(CURL* handle) {
    set_option(handle, CURLOPT_WRITEFUNCTION, &take_body);
    set_option(handle, CURLOPT_HEADERFUNCTION, &take_header);
    set_option(handle, CURLOPT_WRITEDATA, this);
    set_option(handle, CURLOPT_HEADERDATA, this);
}

}  // namespace ftlfeed::net
