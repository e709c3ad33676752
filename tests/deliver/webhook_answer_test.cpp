#include "deliver/webhook_answer.hpp"

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>

using namespace ftlfeed;
using namespace ftlfeed::deliver;
using Kind = core::Failure::Kind;
using std::chrono::seconds;

namespace {

const core::SystemTime kNow = core::SystemTime{} + std::chrono::hours(24 * 365 * 56);

std::string word(const net::HttpResponse& response) {
    try {
        const auto outcome = webhook_answer(response, "https://a.example", "7-x", kNow);
        if (std::holds_alternative<Stored>(outcome)) return "stored";
        if (std::holds_alternative<Gone>(outcome)) return "gone";
        return std::get<Refused>(outcome).lasts ? "file lasts" : "file";
    } catch (const core::Failure& failure) {
        const std::string wish =
            failure.retry_after() ? " " + std::to_string(failure.retry_after()->count() / 1000) + " s" : "";
        CHECK(failure.native_code() == "HTTP_" + std::to_string(response.status));
        switch (failure.kind()) {
            case Kind::kBusy:
                return "busy" + wish;
            case Kind::kPermanent:
                return "lasts" + wish;
            case Kind::kUnavailable:
                return "trouble" + wish;
            case Kind::kInDoubt:
                return "in doubt" + wish;
        }
        return "?";
    }
}

}  // namespace

TEST_CASE("deliver.webhook_answer: each status has its meaning") {
    struct Row {
        int status;
        const char* meaning;
    };
    for (const auto& [status, meaning] : {
             Row{199, "trouble"}, Row{200, "stored"},  Row{201, "stored"},  Row{202, "stored"},  Row{204, "stored"},
             Row{299, "stored"},  Row{300, "trouble"}, Row{301, "lasts"},   Row{302, "trouble"}, Row{304, "trouble"},
             Row{307, "trouble"}, Row{308, "lasts"},   Row{400, "file"},    Row{401, "lasts"},   Row{402, "lasts"},
             Row{403, "lasts"},   Row{404, "trouble"}, Row{405, "lasts"},   Row{406, "file"},    Row{407, "lasts"},
             Row{408, "trouble"}, Row{409, "busy"},    Row{410, "gone"},    Row{411, "file"},    Row{413, "file"},
             Row{414, "file"},    Row{415, "file"},    Row{418, "trouble"}, Row{422, "file"},    Row{425, "busy"},
             Row{426, "lasts"},   Row{429, "busy"},    Row{431, "file"},    Row{499, "trouble"}, Row{500, "trouble"},
             Row{502, "trouble"}, Row{503, "busy"},    Row{504, "trouble"}, Row{599, "trouble"}, Row{600, "trouble"},
         }) {
        CAPTURE(status);
        CHECK(word({status, {}, ""}) == meaning);
    }
}

TEST_CASE("deliver.webhook_answer: Retry-After is honoured where it may be tried again") {
    const auto with = [](int status, const std::string& wish) { return word({status, {{"retry-after", wish}}, ""}); };
    CHECK(with(429, "120") == "busy 120 s");
    CHECK(with(503, "120") == "busy 120 s");
    CHECK(with(500, "7") == "trouble 7 s");
    CHECK(with(429, "86400") == "busy 86400 s");
    CHECK(with(429, "99999999") == "busy 86400 s");
    CHECK(with(429, "0") == "busy 1 s");
    CHECK(with(429, "-5") == "busy");
    CHECK(with(429, "soon") == "busy");
    CHECK(with(403, "120") == "lasts");
    CHECK(with(200, "120") == "stored");
}

TEST_CASE("deliver.webhook_answer: the receipt names status and id and a page of HTML changes nothing") {
    const auto outcome = webhook_answer({200, {{"content-type", "text/html"}}, "<html>Error</html>"},
                                        "https://a.example", "7-wc~calendar-1-2-3-0", kNow);
    REQUIRE(std::holds_alternative<Stored>(outcome));
    CHECK(std::get<Stored>(outcome) == Stored{"status=200 webhook_id=7-wc~calendar-1-2-3-0", Guarantee::kAcknowledged});
    CHECK(name_of(Guarantee::kAcknowledged) == "acknowledged");
}

TEST_CASE("deliver.webhook_answer: the receiver's words are told on one line and cut to length") {
    const auto outcome = webhook_answer({422, {}, "line one\r\nline two\x1b[31m" + std::string(10'000, 'x')},
                                        "https://a.example", "7", kNow);
    const auto& reason = std::get<Refused>(outcome).reason;
    CHECK(reason.starts_with("POST https://a.example: the answer is 422: line one  line two [31m"));
    CHECK(reason.size() < 300);
    CHECK(reason.find('\n') == std::string::npos);
}
