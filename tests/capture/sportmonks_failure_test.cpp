#include <doctest/doctest.h>

#include "capture/sportmonks_failure.hpp"

using namespace ftlfeed::capture;
using ftlfeed::core::Failure;
using std::chrono::seconds;

namespace {

std::optional<Failure> failure_of(int status, const std::string& body,
                                  const std::map<std::string, std::string>& headers = {},
                                  std::optional<seconds> resets_in = std::nullopt) {
    ftlfeed::net::HttpResponse response;
    response.status = status;
    response.body = body;
    response.headers = headers;
    return sportmonks_failure(response, read_body(response), resets_in);
}

std::string code_body(int code) {
    return R"({"message":"no","link":"https://docs.example","code":)" + std::to_string(code) + "}";
}

}  // namespace

TEST_CASE("capture.failure: the provider's statuses and codes as a table") {
    struct Row {
        int status;
        std::string body;
        Failure::Kind kind;
    };
    const std::vector<Row> rows{
        {400, R"({"message":"per_page cannot be used together with cursor"})", Failure::Kind::kPermanent},
        {401, R"({"message":"Unauthenticated."})", Failure::Kind::kPermanent},
        {403, R"({"message":"plan"})", Failure::Kind::kPermanent},
        {404, R"({"message":"none"})", Failure::Kind::kPermanent},
        {429, R"({"message":"Too Many Attempts."})", Failure::Kind::kBusy},
        {500, R"({"message":"Server Error"})", Failure::Kind::kUnavailable},
        {502, "<html>Bad gateway</html>", Failure::Kind::kUnavailable},
        {301, "", Failure::Kind::kUnavailable},
        {204, "", Failure::Kind::kUnavailable},
        {422, code_body(5000), Failure::Kind::kPermanent},
        {422, code_body(5001), Failure::Kind::kPermanent},
        {422, code_body(5002), Failure::Kind::kPermanent},
        {422, code_body(5005), Failure::Kind::kBusy},
        {422, code_body(5013), Failure::Kind::kPermanent},
        {422, code_body(9999), Failure::Kind::kUnavailable},
        {200, code_body(5005), Failure::Kind::kBusy},
        {200, code_body(5001), Failure::Kind::kPermanent},
    };
    for (const auto& row : rows) {
        CAPTURE(row.status);
        CAPTURE(row.body);
        const auto failure = failure_of(row.status, row.body);
        REQUIRE(failure);
        CHECK(failure->kind() == row.kind);
    }
}

TEST_CASE("capture.failure: an answer and a no-result are no failures") {
    CHECK_FALSE(failure_of(200, R"({"data":[]})"));
    CHECK_FALSE(failure_of(200, R"({"message":"No result(s) found matching your request."})"));
}

TEST_CASE("B51: a reached limit tells when to come back and never at once") {
    CHECK(failure_of(429, "", {{"retry-after", "30"}})->retry_after() == seconds(30));
    CHECK(failure_of(429, R"({"rate_limit":{"resets_in_seconds":120}})")->retry_after() == seconds(120));
    CHECK(failure_of(429, "{}", {}, seconds(77))->retry_after() == seconds(77));
    CHECK(failure_of(429, "{}")->retry_after() == kLimitResetDefault);
    CHECK(failure_of(429, R"({"rate_limit":{"resets_in_seconds":0}})")->retry_after() == kLimitResetMin);
    CHECK(failure_of(429, "", {{"retry-after", "999999"}})->retry_after() == kLimitResetMax);
    CHECK(failure_of(422, code_body(5005), {{"retry-after", "5"}})->retry_after() == seconds(5));
    CHECK(failure_of(429, "", {{"retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"}})->retry_after() == kLimitResetDefault);
}

TEST_CASE("capture.failure: what the provider says is cut to length") {
    const auto failure = failure_of(500, R"({"message":")" + std::string(5000, 'x') + R"("})");
    CHECK(std::string(failure->what()).size() < 400);
}
