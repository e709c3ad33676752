#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <ftlfeed/net/http_client.hpp>

namespace ftlfeed::net {

struct FreeHandle {
    void operator()(CURL* it) const { curl_easy_cleanup(it); }
};
using Handle = std::unique_ptr<CURL, FreeHandle>;

struct FreeList {
    void operator()(curl_slist* it) const { curl_slist_free_all(it); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

/// A handle with what holds for each of our transfers: no signals, no waiting for name servers at the end, no proxy, no
/// redirect, http and https alone. Throws std::bad_alloc, or Failure when libcurl does not start.
[[nodiscard]] Handle make_handle();

/// Throws Failure (by curl_failure) when libcurl refuses the option.
template <typename Value>
void set_option(CURL* handle, CURLoption option, Value value) {
    const auto code = curl_easy_setopt(handle, option, value);
    if (code != CURLE_OK) throw curl_failure(code, "libcurl option " + std::to_string(option), false);
}

/// Throws InvalidInput for a line that holds CR, LF or NUL: it would be another header, or another request.
void append_header(HeaderList& list, const std::string& line);

[[nodiscard]] std::string lower(std::string_view text);

/// What comes in, kept while a transfer runs. Bounded, whatever the other side sends.
struct Incoming {
    HttpResponse response;
    std::size_t body_bytes_max = 0;
    std::size_t header_bytes = 0;  ///< Of all answers of the transfer, those before the answer (100, 103) too.
    bool is_too_long = false;
    bool are_headers_whole = false;

    /// Takes the transfer's answer from now on. It must outlive the transfer.
    void receive_from(CURL* handle);
};

}  // namespace ftlfeed::net
