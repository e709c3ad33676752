// The slow audit (design 7.7).
#include <doctest/doctest.h>

#include <chrono>
#include <pqxx/result>
#include <string>

#include <ftlfeed/build/audit.hpp>

#include "build/world.hpp"

using namespace ftlfeed;
using namespace ftl::test;
using build::AuditResult;

namespace {

constexpr std::chrono::milliseconds kAtOnce{0};

std::string open_alerts(const World& world) {
    return world.value(
        "SELECT coalesce(string_agg(kind || ' ' || subject, ', '), '') FROM alert WHERE cleared_at IS NULL");
}

}  // namespace

TEST_CASE("build.audit: a change that nobody touched raises missing touch and is built") {
    const World world;
    world.build_live();
    auto session = world.session();
    build::Auditor auditor(session, world.resolvers());
    CHECK(auditor.audit_next(kAtOnce).result == AuditResult::kProven);
    CHECK(open_alerts(world).empty());
    world.exec("UPDATE rec SET v = 2");  // A writer that forgot ftl_touch().
    const auto outcome = auditor.audit_next(kAtOnce);
    CHECK(outcome.result == AuditResult::kMissingTouch);
    CHECK(outcome.doc_key == "wc/live");
    CHECK(open_alerts(world) == "build.missing_touch wc/live");
    world.settle();
    CHECK(world.body("wc/live") == R"({ "r1" : 2 })");
    // The next proof ends the alert.
    CHECK(auditor.audit_next(kAtOnce).result == AuditResult::kProven);
    CHECK(open_alerts(world).empty());
}

TEST_CASE("build.audit: a touch on its way is no missing touch wherever it is") {
    const World world;
    world.build_live();
    auto session = world.session();
    build::Auditor auditor(session, world.resolvers());
    world.set("r1", "g", 2);  // In the outbox, read by nobody yet.
    CHECK(auditor.audit_next(kAtOnce).result == AuditResult::kProven);
    world.read_outbox();  // Marked: the audit passes the file over.
    CHECK(auditor.audit_next(kAtOnce).result == AuditResult::kNothingDue);
    CHECK(open_alerts(world).empty());
    world.settle();
    CHECK(auditor.audit_next(kAtOnce).result == AuditResult::kProven);
    CHECK(world.versions("wc/live") == 2);
}

TEST_CASE("build.audit: a dependency that a definition leaves out is found") {
    const World world;
    world.define("live", "SELECT json_build_object('sum', sum(v)) AS body, '{rec:r1}'::text[] AS deps FROM rec");
    world.set("r1", "g", 1);
    world.settle();
    world.set("r2", "g", 1);  // Touched, but the file does not depend on it.
    world.settle();
    auto session = world.session();
    build::Auditor auditor(session, world.resolvers());
    CHECK(auditor.audit_next(kAtOnce).result == AuditResult::kMissingTouch);
}

TEST_CASE("build.audit: each file is looked at once an interval and one that is being built is passed over") {
    const World world;
    world.define_live();
    world.define("other", "SELECT '1' AS body, '{}'::text[] AS deps");
    world.settle();
    auto session = world.session();
    build::Auditor auditor(session, world.resolvers());
    constexpr auto kHour = std::chrono::hours(1);
    CHECK(auditor.audit_next(kHour).result == AuditResult::kNothingDue);
    world.exec("UPDATE feed_document SET audited_at = audited_at - interval '2 h'");
    const auto first = auditor.audit_next(kHour);
    const auto second = auditor.audit_next(kHour);
    CHECK(first.result == AuditResult::kProven);
    CHECK(second.result == AuditResult::kProven);
    CHECK(first.doc_key != second.doc_key);
    CHECK(auditor.audit_next(kHour).result == AuditResult::kNothingDue);

    world.set_and_read("r1", "g", 2);
    AuditResult meanwhile = AuditResult::kNothingDue;
    world.build([&](build::BuildStep step, const std::string& doc_key) {
        if (step != build::BuildStep::kSnapshot) return;
        world.exec("UPDATE feed_document SET audited_at = '2000-01-01' WHERE doc_key = '" + doc_key +
                   "';"
                   " DELETE FROM feed_dirty");
        meanwhile = auditor.audit_next(kHour).result;
    });
    CHECK(meanwhile == AuditResult::kSkipped);
}
