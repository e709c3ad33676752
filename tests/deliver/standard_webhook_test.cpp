#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/deliver/standard_webhook.hpp>
#include <ftlfeed/deliver/webhook_url.hpp>

using namespace ftlfeed;
using namespace ftlfeed::deliver;

namespace {

SigningSecret secret(const std::string& text) { return SigningSecret::parse(core::Secret(text)); }

std::string refusal_of(const std::string& text) {
    try {
        static_cast<void>(secret(text));
    } catch (const core::InvalidInput& wrong) {
        return wrong.what();
    }
    return "taken";
}

/// `whsec_` and the base64 of so many bytes of zero; a multiple of three.
std::string zeros(std::size_t bytes) { return "whsec_" + std::string(bytes / 3 * 4, 'A'); }

}  // namespace

TEST_CASE("deliver.standard_webhook: the signature is that of the specification's libraries") {
    CHECK(webhook_signature({secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")}, "msg_p5jXN8AQM9LWM0D4loKWxJek",
                            1614265330,
                            R"({"test": 2432232314})") == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST_CASE("deliver.standard_webhook: several secrets give several signatures joined by a blank") {
    const auto one = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    const auto other = secret("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
    const auto first = webhook_signature({one}, "a", 1, "b");
    const auto second = webhook_signature({other}, "a", 1, "b");
    CHECK(first != second);
    CHECK(webhook_signature({one, other}, "a", 1, "b") == first + " " + second);
}

TEST_CASE("deliver.standard_webhook: a secret has the prefix and base64 of 24 to 64 bytes and is never shown") {
    CHECK(refusal_of(zeros(24)) == "taken");
    CHECK(refusal_of(zeros(63)) == "taken");
    CHECK(refusal_of("whsec_" + std::string(84, 'A') + "AA==") == "taken");
    CHECK(refusal_of(zeros(21)).find("has 21 bytes") != std::string::npos);
    CHECK(refusal_of(zeros(66)).find("has 66 bytes") != std::string::npos);
    for (const auto* wrong :
         {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLjS",
          "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaL!Sw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaL=Sw",
          "whsec_====", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"}) {
        CAPTURE(wrong);
        const auto said = refusal_of(wrong);
        CHECK(said != "taken");
        CHECK(said.find("MfKQ9r8") == std::string::npos);
    }
}

TEST_CASE("deliver.standard_webhook: the id carries assignment and file and version and occasion and no dot") {
    const auto id = webhook_id({7}, core::FeedKey::parse("wc2026/timeline/match_12"), {1751, 42, 3}, 2);
    CHECK(id == "7-wc2026~timeline~match_12-1751-42-3-2");
    CHECK(webhook_id({7}, core::FeedKey::parse("wc/calendar"), {1, 2, 3}, 0) == "7-wc~calendar-1-2-3-0");
}

TEST_CASE("deliver.webhook_url: its parts are taken apart and put together again") {
    const auto url = WebhookUrl::parse("HTTPS://Hooks.Example.com:8443/In/x?y=1&z=%20");
    CHECK(url == WebhookUrl{"https", "hooks.example.com", 8443, "/In/x?y=1&z=%20"});
    CHECK(url.text() == "https://hooks.example.com:8443/In/x?y=1&z=%20");
    CHECK(url.origin() == "https://hooks.example.com:8443");
    CHECK(WebhookUrl::parse("http://[::FFFF:7f00:1]:80").text() == "http://[::ffff:7f00:1]:80/");
    CHECK(WebhookUrl::parse("https://a.example").path == "/");
    CHECK(WebhookUrl::parse("https://a.example?x").path == "/?x");
    CHECK(WebhookUrl::parse("http://2130706433/").host == "2130706433");
}

TEST_CASE("deliver.webhook_url: what could be read in two ways or breaks a line is refused") {
    for (const std::string wrong : {"",
                                    "hooks.example.com",
                                    "ftp://a.example/",
                                    "file:///etc/passwd",
                                    "https://",
                                    "https:///x",
                                    "https://me:pw@a.example/",
                                    "https://a.example@127.0.0.1/",
                                    "https://a.example:0/",
                                    "https://a.example:65536/",
                                    "https://a.example:-1/",
                                    "https://a.example:/",
                                    "https://a.example:80x/",
                                    "https://a.example/#x",
                                    "https://a b.example/",
                                    "https://a.example/a b",
                                    "https://a.example/\r\nHost: evil",
                                    "https://a.example/\n",
                                    "https://a\r\n.example/",
                                    "https://a.example\\@127.0.0.1/",
                                    "https://a.example/\\x",
                                    "https://ä.example/",
                                    "https://a.example/ä",
                                    "https://[::1/",
                                    "https://[127.0.0.1]/",
                                    "https://[::1]x/",
                                    "https://[fe80::1%25eth0]/",
                                    "https://a%2eexample/",
                                    "https://127.0.0.1\t/"}) {
        CAPTURE(wrong);
        CHECK_THROWS_AS(static_cast<void>(WebhookUrl::parse(wrong)), core::InvalidInput);
    }
    CHECK_THROWS_AS(static_cast<void>(WebhookUrl::parse(std::string("https://a.example/\0x", 20))), core::InvalidInput);
    CHECK_THROWS_AS(static_cast<void>(WebhookUrl::parse("https://a.example/" + std::string(2001, 'x'))),
                    core::InvalidInput);
}
