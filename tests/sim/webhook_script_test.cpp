#include "webhook_script.hpp"

#include <doctest/doctest.h>

#include "command.hpp"
#include "webhook_signature.hpp"

using namespace ftlfeed::sim;

TEST_CASE("sim.webhook_script: the first rule that fits a request holds and without one it gets what it deserves") {
    const auto script = WebhookScript::parse(
        "# a comment\n1: status=429 retry-after=120; 2-3: reset\n5-: html body=10 headers=200 delay=3 drip=4 "
        "status=200");
    CHECK(script.plan(1).status == 429);
    CHECK(script.plan(1).headers.front().second == "120");
    CHECK(script.plan(2).misdeed == Misdeed::kReset);
    CHECK(script.plan(3).misdeed == Misdeed::kReset);
    CHECK_FALSE(script.plan(4).status.has_value());
    CHECK(script.plan(4).misdeed == Misdeed::kNone);
    const auto many = script.plan(99);
    CHECK(many.is_html);
    CHECK(many.body_bytes == 10);
    CHECK(many.header_bytes == 200);
    CHECK(many.delay_ms == 3);
    CHECK(many.drip_ms == 4);
    CHECK(WebhookScript::parse("*: location=http://127.0.0.1:1/x").plan(1).headers.front().second ==
          "http://127.0.0.1:1/x");
}

TEST_CASE("sim.webhook_script: each misdeed is called by its name and a wrong word is refused") {
    for (const auto* name : {"hang-before", "hang-after", "close", "reset", "cut"}) {
        CHECK(name_of(WebhookScript::parse(std::string("*: ") + name).plan(1).misdeed) == name);
    }
    for (const auto* wrong : {"1", "1:", "0: ok", "3-2: ok", "x: ok", "1: nonsense", "1: status=99", "1: status=600",
                              "1: status=x", "1: sing=3", "1: body=-1"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(static_cast<void>(WebhookScript::parse(wrong)), UsageError);
    }
}

TEST_CASE("sim.webhook_signature: the vector of the specification's libraries is good and each change of it is not") {
    const WebhookVerifier verifier(
        {"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"});
    const WebhookVerifier::Signed good{
        "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
        "v1a,xyz v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", R"({"test": 2432232314})"};
    constexpr std::int64_t kThen = 1614265330;
    CHECK(verifier.complaint(good, kThen).empty());
    CHECK(verifier.complaint(good, kThen + 300).empty());
    CHECK_FALSE(verifier.complaint(good, kThen + 301).empty());
    CHECK_FALSE(verifier.complaint(good, kThen - 301).empty());
    auto changed = good;
    changed.id = "msg_p5jXN8AQM9LWM0D4loKWxJel";
    CHECK(verifier.complaint(changed, kThen) == "no signature fits");
    changed = good;
    changed.timestamp = "1614265331";
    CHECK_FALSE(verifier.complaint(changed, kThen).empty());
    changed = good;
    changed.body = R"({"test": 2432232315})";
    CHECK_FALSE(verifier.complaint(changed, kThen).empty());
    changed = good;
    changed.signature = "v1,";
    CHECK_FALSE(verifier.complaint(changed, kThen).empty());
    CHECK(WebhookVerifier({"whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}).complaint(good, kThen) == "no signature fits");
    CHECK_THROWS_AS(WebhookVerifier({"C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}), UsageError);
}
