#include "deliver/webhook_answer.hpp"

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/text.hpp>
#include <ftlfeed/net/http_post.hpp>

namespace ftlfeed::deliver {
namespace {

constexpr std::size_t kWordsBytesMax = 200;

enum class Meaning {
    kStored,
    kFile,     ///< This file is not wanted so; the next version, or another file, may be.
    kGone,     ///< The receiver wants nothing more.
    kBusy,     ///< Not now.
    kTrouble,  ///< The receiver's trouble; it may pass.
    kLasts,    ///< A person has to act.
};

Meaning meaning_of(int status) {
    if (status >= 200 && status <= 299) return Meaning::kStored;
    switch (status) {
        // Moved for good: the URL that was given is not the one to send to, and none is followed.
        case 301:
        case 308:
        case 401:
        case 402:
        case 403:
        case 405:
        case 407:
        case 426:
            return Meaning::kLasts;
        case 400:
        case 406:
        case 411:
        case 413:
        case 414:
        case 415:
        case 422:
        case 431:
            return Meaning::kFile;
        case 410:
            return Meaning::kGone;
        case 409:
        case 425:
        case 429:
        case 503:
            return Meaning::kBusy;
        default:
            // 404 too: what is there again after the receiver's next start needs no person.
            return Meaning::kTrouble;
    }
}

/// The receiver's own words, for whoever looks after the destination. One line, cut to length.
std::string words_of(const net::HttpResponse& response) {
    std::string words;
    for (const char c : response.body.substr(0, kWordsBytesMax)) words += c >= ' ' && c < 0x7f ? c : ' ';
    const auto end = words.find_last_not_of(' ');
    return end == std::string::npos ? "" : ": " + words.substr(0, end + 1);
}

core::Failure with_wish(const core::Failure& failure, const net::HttpResponse& response, core::SystemTime now) {
    const auto wish = net::retry_after(response, now);
    return wish ? failure.with_retry_after(*wish) : failure;
}

}  // namespace

SendOutcome webhook_answer(const net::HttpResponse& response, const std::string& target, const std::string& id,
                           core::SystemTime now) {
    const auto status = std::to_string(response.status);
    const auto text = "POST " + target + ": the answer is " + status + words_of(response);
    const auto code = "HTTP_" + status;
    switch (meaning_of(response.status)) {
        case Meaning::kStored:
            return Stored{"status=" + status + " webhook_id=" + id, Guarantee::kAcknowledged};
        case Meaning::kFile:
            return Refused{text, false};
        case Meaning::kGone:
            return Gone{"the receiver answered 410 Gone"};
        case Meaning::kBusy:
            throw with_wish(core::Failure::busy(text).with_native_code(code), response, now);
        case Meaning::kTrouble:
            throw with_wish(core::Failure::unavailable(text).with_native_code(code), response, now);
        case Meaning::kLasts:
            // The credential may be another by now: the next try reads it anew.
            throw core::Failure::permanent(text).with_native_code(code).with_connection_lost();
    }
    throw core::Failure::unavailable(text).with_native_code(code);
}

}  // namespace ftlfeed::deliver
