#include "ftl-serve/request_head.hpp"

#include <algorithm>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstdint>

namespace ftlfeed::app {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using serve::PlainStatus;

constexpr std::string_view kEnd = "\r\n\r\n";
constexpr std::string_view kLineEnd = "\r\n";

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

/// Beast's parser without its containers: what matters is kept as views, the rest is only checked.
class HeadParser final : public http::basic_parser<true> {
public:
    HeadParser(RequestHead& head, std::size_t fields_max) : head_(head), fields_max_(fields_max) {}

    [[nodiscard]] int version() const { return version_; }
    [[nodiscard]] bool has_too_many() const { return fields_ > fields_max_; }
    /// Everything that Beast takes and we do not.
    [[nodiscard]] bool is_acceptable() const {
        const bool has_host = hosts_ == 1 || (hosts_ == 0 && version_ == 10);
        // A body of another method is refused with the method, and the connection ends with it unread.
        const bool has_body = lengths_ == 1 && !is_empty_ && head_.method != RequestHead::Method::kOther;
        const bool is_framed = !has_transfer_encoding_ && lengths_ <= 1 && !has_body;
        return has_host && is_framed && !has_two_keys_ && head_.target.starts_with('/');
    }

private:
    void on_request_impl(http::verb method, beast::string_view /*text*/, beast::string_view target, int version,
                         beast::error_code& /*error*/) override {
        head_.method = method == http::verb::get    ? RequestHead::Method::kGet
                       : method == http::verb::head ? RequestHead::Method::kHead
                                                    : RequestHead::Method::kOther;
        head_.target = view(target);
        version_ = version;
    }

    void on_field_impl(http::field name, beast::string_view text, beast::string_view value,
                       beast::error_code& /*error*/) override {
        ++fields_;
        switch (name) {
            case http::field::host:
                ++hosts_;
                return;
            case http::field::authorization:
                return take_key(head_.key.authorization, view(value));
            case http::field::if_none_match:
                return join(head_.conditions.if_none_match, head_.joined_tags, view(value));
            case http::field::if_modified_since:
                head_.conditions.if_modified_since = view(value);
                return;
            case http::field::accept_encoding:
                return join(head_.accept_encoding, head_.joined_codings, view(value));
            case http::field::transfer_encoding:
                has_transfer_encoding_ = true;
                return;
            case http::field::content_length:
                ++lengths_;
                is_empty_ = view(value) == "0";
                return;
            case http::field::unknown:
                if (beast::iequals(text, "X-Api-Key")) take_key(head_.key.x_api_key, view(value));
                return;
            default:
                return;
        }
    }

    /// Two keys in two lines: which of them is meant is anybody's guess.
    void take_key(std::string_view& place, std::string_view value) {
        has_two_keys_ = has_two_keys_ || place.data() != nullptr;
        place = value;
    }

    /// Several lines of a list are one list (RFC 9110, 5.3).
    static void join(std::string_view& list, std::string& joined, std::string_view value) {
        if (list.data() == nullptr) {
            list = value;
            return;
        }
        if (joined.empty()) joined = list;
        joined.append(", ").append(value);
        list = joined;
    }

    void on_response_impl(int, beast::string_view, int, beast::error_code&) override {}
    void on_header_impl(beast::error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, beast::error_code&) override {}
    std::size_t on_body_impl(beast::string_view, beast::error_code&) override { return 0; }
    void on_chunk_header_impl(std::uint64_t, beast::string_view, beast::error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view, beast::error_code&) override { return 0; }
    void on_finish_impl(beast::error_code&) override {}

    RequestHead& head_;
    std::size_t fields_max_;
    int version_ = 0;
    std::size_t fields_ = 0;
    std::size_t hosts_ = 0;
    std::size_t lengths_ = 0;
    bool is_empty_ = false;
    bool has_transfer_encoding_ = false;
    bool has_two_keys_ = false;
};

/// Every line ends in CR LF and is not folded, and neither byte nor a NUL is anywhere else. `text` ends where a line does,
/// or in the middle of one.
bool has_clean_lines(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto end = text.find_first_of(std::string_view("\r\n\0", 3), at);
        if (end == std::string_view::npos) return true;
        if (text[end] != '\r') return false;
        if (end + 1 == text.size()) return true;
        if (text[end + 1] != '\n') return false;
        at = end + kLineEnd.size();
        if (at < text.size() && (text[at] == ' ' || text[at] == '\t')) return false;
    }
    return true;
}

/// The first line is whole and no request line of ours: an answer now is better than one after the time limit.
std::optional<PlainStatus> refuse_line(std::string_view line) {
    const auto space = line.rfind(' ');
    const auto version = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    if (version == "HTTP/1.1" || version == "HTTP/1.0") return std::nullopt;
    return version.starts_with("HTTP/") ? PlainStatus::kVersionNotSupported : PlainStatus::kBadRequest;
}

/// The empty line has not come yet.
HeadResult unfinished(std::string_view input, const HeadLimits& limits) {
    if (!has_clean_lines(input)) return {0, PlainStatus::kBadRequest};
    const auto line = input.find(kLineEnd);
    if (line != std::string_view::npos) {
        if (const auto refusal = refuse_line(input.substr(0, line))) return {0, refusal};
    }
    if (input.size() < limits.bytes_max) return {};
    return {0, line == std::string_view::npos ? PlainStatus::kUriTooLong : PlainStatus::kHeadersTooLarge};
}

}  // namespace

HeadResult read_head(std::string_view input, const HeadLimits& limits, RequestHead& head) {
    head = {};
    // One empty line before a request is forgiven (RFC 9112, 2.2).
    const std::size_t skipped = input.starts_with(kLineEnd) ? kLineEnd.size() : 0;
    input.remove_prefix(skipped);
    if (input.empty()) return {};
    const auto end = input.find(kEnd);
    if (end == std::string_view::npos || end + kEnd.size() > limits.bytes_max) {
        return unfinished(input.substr(0, limits.bytes_max), limits);
    }
    const auto text = input.substr(0, end + kEnd.size());
    if (!has_clean_lines(text)) return {0, PlainStatus::kBadRequest};
    if (const auto refusal = refuse_line(text.substr(0, text.find(kLineEnd)))) return {0, refusal};

    HeadParser parser(head, limits.fields_max);
    parser.header_limit(static_cast<std::uint32_t>(limits.bytes_max));
    parser.body_limit(boost::none);  // No body is ever read.
    beast::error_code error;
    const auto taken = parser.put(boost::asio::buffer(text.data(), text.size()), error);
    if (parser.has_too_many()) return {0, PlainStatus::kHeadersTooLarge};
    if (error || !parser.is_header_done() || taken != text.size()) return {0, PlainStatus::kBadRequest};
    if (!parser.is_acceptable()) return {0, PlainStatus::kBadRequest};
    head.is_kept_alive = parser.version() == 11 && parser.keep_alive();
    return {skipped + text.size(), std::nullopt};
}

}  // namespace ftlfeed::app
