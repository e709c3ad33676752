#include <curl/curl.h>

#include <ftlfeed/net/http_client.hpp>

namespace ftlfeed::net {

namespace {

/// Those that no repetition cures: a wrong URL, a peer that cannot prove who it is, a limit of our own.
bool is_permanent(CURLcode code) {
    switch (code) {
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_URL_MALFORMAT:
        case CURLE_NOT_BUILT_IN:
        case CURLE_UNKNOWN_OPTION:
        case CURLE_BAD_FUNCTION_ARGUMENT:
        case CURLE_FILESIZE_EXCEEDED:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return true;
        default:
            return false;
    }
}

}  // namespace

core::Failure curl_failure(int code, const std::string& target, bool body_sent) {
    const auto what = target + ": " + curl_easy_strerror(static_cast<CURLcode>(code));
    const auto native = "CURLE_" + std::to_string(code);
    // A lost answer is not a lost request: after the last byte only the receiver knows whether it took effect.
    if (body_sent) return core::Failure::in_doubt(what).with_native_code(native).with_connection_lost();
    if (is_permanent(static_cast<CURLcode>(code))) return core::Failure::permanent(what).with_native_code(native);
    // Unknown codes as well: that one does not know an error is no proof that trying again is useless.
    return core::Failure::unavailable(what).with_native_code(native).with_connection_lost();
}

}  // namespace ftlfeed::net
