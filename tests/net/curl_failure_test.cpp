#include <curl/curl.h>
#include <doctest/doctest.h>

#include <ftlfeed/net/http_client.hpp>

using namespace ftlfeed;
using Kind = core::Failure::Kind;

TEST_CASE("net.curl_failure: each code has its meaning and an unknown one may be retried") {
    struct Row {
        int code;
        Kind kind;
    };
    for (const auto& [code, kind] : {
             Row{CURLE_UNSUPPORTED_PROTOCOL, Kind::kPermanent},
             Row{CURLE_URL_MALFORMAT, Kind::kPermanent},
             Row{CURLE_COULDNT_RESOLVE_HOST, Kind::kUnavailable},
             Row{CURLE_COULDNT_CONNECT, Kind::kUnavailable},
             Row{CURLE_WEIRD_SERVER_REPLY, Kind::kUnavailable},
             Row{CURLE_PARTIAL_FILE, Kind::kUnavailable},
             Row{CURLE_WRITE_ERROR, Kind::kUnavailable},
             Row{CURLE_OPERATION_TIMEDOUT, Kind::kUnavailable},
             Row{CURLE_SSL_CONNECT_ERROR, Kind::kUnavailable},
             Row{CURLE_PEER_FAILED_VERIFICATION, Kind::kPermanent},
             Row{CURLE_SSL_CERTPROBLEM, Kind::kPermanent},
             Row{CURLE_GOT_NOTHING, Kind::kUnavailable},
             Row{CURLE_SEND_ERROR, Kind::kUnavailable},
             Row{CURLE_RECV_ERROR, Kind::kUnavailable},
             Row{CURLE_BAD_CONTENT_ENCODING, Kind::kUnavailable},
             Row{CURLE_FILESIZE_EXCEEDED, Kind::kPermanent},
             Row{CURLE_HTTP2, Kind::kUnavailable},
             Row{999, Kind::kUnavailable},
         }) {
        CAPTURE(code);
        const auto failure = net::curl_failure(code, "GET http://a/", false);
        CHECK(failure.kind() == kind);
        CHECK(failure.native_code() == "CURLE_" + std::to_string(code));
        CHECK(std::string(failure.what()).starts_with("GET http://a/: "));
        CHECK(failure.connection_lost() == (kind == Kind::kUnavailable));
    }
}

TEST_CASE("net.curl_failure: after the last byte only the receiver knows") {
    for (const int code : {CURLE_OPERATION_TIMEDOUT, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE}) {
        CHECK(net::curl_failure(code, "PUT a", true).in_doubt());
        CHECK_FALSE(net::curl_failure(code, "PUT a", false).in_doubt());
    }
}
