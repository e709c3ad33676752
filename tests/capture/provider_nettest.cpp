#include <doctest/doctest.h>

#include <set>

#include <ftlfeed/capture/sportmonks.hpp>
#include <ftlfeed/core/failure.hpp>

#include "played.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;
using ftlfeed::core::Failure;
using ftlfeed::core::Secret;

namespace {

SportmonksSettings settings_for(const SimProvider& sim, const std::string& token = "sim-token") {
    SportmonksSettings settings;
    settings.url = sim.url();
    settings.token = Secret(token);
    return settings;
}

Failure failure_of(SportmonksClient& client) {
    try {
        static_cast<void>(client.in_play());
    } catch (const Failure& failure) {
        return failure;
    }
    throw std::runtime_error("the answer was read");
}

constexpr std::chrono::sys_days kFirstDay = std::chrono::year(2000) / 1 / 1;
constexpr std::chrono::sys_days kLastDay = std::chrono::year(2040) / 1 / 1;

}  // namespace

TEST_CASE("capture.client: all pages of the season are read whatever form next_page has") {
    std::set<std::size_t> counts;
    for (const char* form : {"url", "number", "text"}) {
        SimProvider sim({"--next-page", form});
        auto settings = settings_for(sim);
        settings.page_rows = 2;
        SportmonksClient client(settings);
        const auto answer = client.fixtures_between(kFirstDay, kLastDay, {77});
        std::set<std::int64_t> ids;
        for (const auto& fixture : answer.fixtures) ids.insert(fixture.id);
        CHECK(ids.size() == answer.fixtures.size());
        CHECK(answer.fixtures.size() > 2);
        counts.insert(answer.fixtures.size());
        CHECK(client.fixtures_between(kFirstDay, kLastDay, {78}).fixtures.empty());
    }
    CHECK(counts.size() == 1);
}

TEST_CASE("capture.client: a fixture is read by id and one that nobody has is not found") {
    SimProvider sim;
    SportmonksClient client(settings_for(sim));
    const auto all = client.fixtures_between(kFirstDay, kLastDay, {77});
    const auto id = all.fixtures.at(0).id;
    REQUIRE(client.fixture(id).fixtures.size() == 1);
    CHECK(client.fixture(id).fixtures.at(0).id == id);
    CHECK(client.fixture(4).fixtures.empty());
    CHECK(client.fixture(id).provider_time);
}

TEST_CASE("capture.client: a wrong token is a lasting failure that does not show it") {
    SimProvider sim;
    SportmonksClient client(settings_for(sim, "not-the-secret-token"));
    const auto failure = failure_of(client);
    CHECK_FALSE(failure.may_retry());
    CHECK(std::string(failure.what()).find("not-the-secret-token") == std::string::npos);
    CHECK(std::string(failure.what()).find("token") != std::string::npos);
}

TEST_CASE("capture.client: an include that the plan lacks is a lasting failure that names the code") {
    SimProvider sim({"--plan-lacks", "events"});
    SportmonksClient client(settings_for(sim));
    const auto failure = failure_of(client);
    CHECK_FALSE(failure.may_retry());
    CHECK(failure.native_code() == "5002");
}

TEST_CASE(
    "capture.client: HTML and half a body and nothing and 500 are failures that may be retried and then it goes on") {
    SimProvider sim({"--fault", "1:html", "--fault", "2:half", "--fault", "3:nothing", "--fault", "4:error"});
    SportmonksClient client(settings_for(sim));
    for (int k = 1; k <= 4; ++k) {
        CAPTURE(k);
        CHECK(failure_of(client).may_retry());
    }
    CHECK(client.in_play().rejected.empty());
}

TEST_CASE("B51: a spent quota is busy with a time to come back as 429 and as 422 with code 5005") {
    for (const std::vector<std::string>& how : {std::vector<std::string>{"--quota", "1"},
                                                {"--quota", "1", "--quota-as-422"},
                                                {"--quota", "1", "--no-retry-after"}}) {
        SimProvider sim(how);
        SportmonksClient client(settings_for(sim));
        static_cast<void>(client.in_play());
        const auto failure = failure_of(client);
        CHECK(failure.kind() == Failure::Kind::kBusy);
        REQUIRE(failure.retry_after());
        CHECK(*failure.retry_after() >
              std::chrono::minutes(30));  // The rest of the hour, told now or with the last answer.
        CHECK(*failure.retry_after() <= std::chrono::hours(1));
    }
}

TEST_CASE("B39: an in-play answer with every number as a text is the same as the one with numbers") {
    SimProvider plain;
    SimProvider texts({"--fault", "2:strings"});
    SportmonksClient a(settings_for(plain));
    SportmonksClient b(settings_for(texts));
    static_cast<void>(a.in_play());
    static_cast<void>(b.in_play());
    const auto numbers = a.in_play();
    const auto spelt = b.in_play();
    REQUIRE(numbers.fixtures.size() == 2);
    REQUIRE(spelt.fixtures.size() == 2);
    for (std::size_t place = 0; place < 2; ++place) {
        CHECK(digest(numbers.fixtures[place]) == digest(spelt.fixtures[place]));
    }
}
