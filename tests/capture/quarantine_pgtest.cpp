#include <doctest/doctest.h>

#include <ftlfeed/core/hash.hpp>

#include "books.hpp"
#include "capture/sportmonks_parse.hpp"

using namespace ftlfeed::capture;
using namespace ftl::test;

namespace {

/// A fixture as the provider would send it, read by the parser.
FixtureSnapshot parsed(const std::string& events) {
    const auto answer = parse_answer(
        R"({"data":{"id":1,"season_id":77,"state_id":22,"participants":[
            {"id":10,"name":"Homeland","meta":{"location":"home"}},{"id":20,"name":"Awayland","meta":{"location":"away"}}],
            "events":)" +
        events + "}}");
    REQUIRE(answer.fixtures.size() == 1);
    return answer.fixtures.front();
}

std::string row(int id, const std::string& more = "") {
    return R"({"id":)" + std::to_string(id) + R"(,"type_id":14,"participant_id":10,"player_id":101,"minute":)" +
           std::to_string(id % 90) + more + "}";
}

constexpr const char* kNul = R"(,"player_name":"a\u0000b")";
// Valid JSON for most readers, but no text that Postgres takes: half of a surrogate pair, in a member that we do not read.
constexpr const char* kHalfPair = R"(,"note":"\udc00")";

}  // namespace

TEST_CASE("capture.quarantine: U+0000 in a name costs that event alone and the fixture is incomplete") {
    Books books;
    const auto bad = row(501, kNul);
    const auto result = books.store(parsed("[" + row(500) + "," + bad + "," + row(502) + "]"));
    CHECK(result.events_new == 2);
    CHECK(result.quarantined == 1);
    CHECK(result.is_incomplete);
    CHECK(books.value("SELECT is_incomplete FROM fixture") == "t");
    CHECK(books.value("SELECT convert_from(payload, 'UTF8') FROM event_quarantine") == bad);
    CHECK(books.value("SELECT provider_fixture_id || '/' || provider_event_id FROM event_quarantine") == "1/501");
    CHECK(books.count("event_bump_log WHERE provider_event_id = 501") == 0);
    CHECK(books.count("event_bump_log WHERE role = 'scorer'") == 2);
}

TEST_CASE("capture.quarantine: a payload that comes with every answer lies there once and alerts once") {
    Books books;
    const auto snapshot = parsed("[" + row(501, kNul) + "]");
    for (int i = 0; i < 4; ++i) books.store(snapshot);
    CHECK(books.count("event_quarantine") == 1);
    CHECK(books.value("SELECT last_seen_at > first_seen_at FROM event_quarantine") == "t");
    CHECK(books.count("alert WHERE kind = 'capture.quarantine'") == 1);
    CHECK(books.value("SELECT times FROM alert WHERE kind = 'capture.quarantine'") == "1");
}

TEST_CASE("capture.quarantine: a changed payload is tried again and the fixture is whole and the alert ends") {
    Books books;
    books.store(parsed("[" + row(501, kNul) + "]"));
    const auto result = books.store(parsed("[" + row(501, R"(,"player_name":"ab")") + "]"));
    CHECK(result.events_new == 1);
    CHECK_FALSE(result.is_incomplete);
    CHECK(books.value("SELECT is_incomplete FROM fixture") == "f");
    CHECK(books.count("alert WHERE kind = 'capture.quarantine' AND cleared_at IS NULL") == 0);
    CHECK(books.total("player", 101) == "1000");
    CHECK(books.count("event_quarantine") == 1);  // What the provider said is not forgotten.
}

TEST_CASE("capture.quarantine: a payload that only Postgres refuses is found among many and the rest goes in") {
    Books books;
    std::string events;
    for (int id = 500; id < 530; ++id) {
        const bool is_bad = id == 507 || id == 508 || id == 529;
        events += (events.empty() ? "[" : ",") + row(id, is_bad ? kHalfPair : "");
    }
    const auto result = books.store(parsed(events + "]"));
    CHECK(result.events_new == 27);
    CHECK(result.quarantined == 3);
    CHECK(books.value(
              "SELECT string_agg(provider_event_id::text, ' ' ORDER BY provider_event_id) FROM event_quarantine") ==
          "507 508 529");
    CHECK(books.count("event_bump_log WHERE role = 'scorer'") == 27);
    CHECK(books.wrong_totals() == 0);
}

TEST_CASE("capture.quarantine: what Postgres refused is not tried with every answer but when its payload changes") {
    Books books;
    const auto bad = parsed("[" + row(500) + "," + row(507, kHalfPair) + "]");
    books.store(bad);
    CHECK(books.store(bad).outcome == StoreResult::Outcome::kUnchanged);
    CHECK(books.store(bad).is_incomplete);
    // The bytes differ in a member that is in no digest: tried again all the same.
    const auto result = books.store(parsed("[" + row(500) + "," + row(507, R"(,"note":"fine")") + "]"));
    CHECK(result.events_new == 1);
    CHECK_FALSE(result.is_incomplete);
}

TEST_CASE("capture.quarantine: a correction that Postgres refuses leaves the stored revision as it is") {
    Books books;
    books.store(parsed("[" + row(501) + "]"));
    auto changed = parsed("[" + row(501, kHalfPair) + "]");
    changed.events.at(0).minute = 77;
    const auto result = books.store(changed);
    CHECK(result.quarantined == 1);
    CHECK(result.revisions == 0);
    CHECK(books.value("SELECT minute FROM match_event_current") == std::to_string(501 % 90));
}

TEST_CASE("B53: one id with two contents is quarantined with an alert and the stored revision stays") {
    Books books;
    books.store(parsed("[" + row(501) + "]"));
    const auto result = books.store(parsed("[" + row(501) + R"(,{"id":501,"type_id":14,"minute":88}])"));
    CHECK(result.quarantined == 2);
    CHECK(books.count("match_event_revision") == 0);
    CHECK(books.count("match_event_current") == 1);
    CHECK(books.count("alert WHERE kind = 'capture.quarantine' AND cleared_at IS NULL") == 1);
    CHECK(books.total("player", 101) == "1000");
}

TEST_CASE("B39: a row with a garbled number is quarantined and not stored as 0") {
    Books books;
    books.store(parsed(R"([{"id":501,"type_id":14,"minute":"4x"}])"));
    CHECK(books.count("match_events") == 0);
    CHECK(books.count("event_quarantine WHERE reason LIKE '%minute%'") == 1);
}

TEST_CASE("capture.quarantine: a fixture that cannot be read is kept with its bytes once") {
    Books books;
    const Ingest ingest("sportmonks");
    const RejectedFixture rejected{900, std::string("{\"id\":900,\"x\":\"\xff\"}"), "\"state_id\" is missing"};
    CHECK(ingest.quarantine(books.session(), rejected));
    CHECK_FALSE(ingest.quarantine(books.session(), rejected));
    CHECK(books.value("SELECT encode(payload_hash, 'hex') FROM event_quarantine") ==
          ftlfeed::core::sha256_hex(rejected.raw));
    CHECK(books.count("alert WHERE kind = 'capture.quarantine'") == 1);
}
