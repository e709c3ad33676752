#include "serve/pull_decision.hpp"

#include <doctest/doctest.h>

using namespace ftlfeed::serve;

TEST_CASE("serve.decision: what Redis has decides and a newer copy is served and pushed back") {
    const Held copy{"2", false, false};
    CHECK(after_check(copy, "2") == Step::kServe);
    CHECK(after_check(copy, "3") == Step::kFetch);
    CHECK(after_check(copy, "1") == Step::kServeAndPushBack);
    CHECK(after_check({}, "1") == Step::kFetch);
    // What Postgres said before counts for nothing beside what Redis says now.
    CHECK(after_check({"", true, true}, "1") == Step::kFetch);
}

TEST_CASE("serve.decision: a key that Redis lacks is asked of Postgres unless that has just answered") {
    CHECK(after_check({}, std::nullopt) == Step::kAskPostgres);
    CHECK(after_check({"2", false, false}, std::nullopt) == Step::kAskPostgres);
    CHECK(after_check({"2", true, false}, std::nullopt) == Step::kServe);
    CHECK(after_check({"", true, true}, std::nullopt) == Step::kMissing);
    CHECK(after_check({"", false, true}, std::nullopt) == Step::kAskPostgres);
}

TEST_CASE("serve.decision: without Redis the copy is served with its age and without a copy Postgres is asked") {
    CHECK(without_redis({"2", false, false}) == Step::kServeWithAge);
    CHECK(without_redis({"2", true, false}) == Step::kServeWithAge);
    CHECK(without_redis({}) == Step::kAskPostgres);
    CHECK(without_redis({"", true, true}) == Step::kMissing);
    CHECK(without_redis({"", false, true}) == Step::kAskPostgres);
}
