// Clusters that are copied, promoted, or near the ends of their transaction ids.

#include <doctest/doctest.h>

#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/outbox/reader.hpp>
#include <string>

#include "history.hpp"
#include "readers.hpp"
#include "scenarios.hpp"
#include "support/cluster.hpp"
#include "support/session.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;
namespace product = ftlfeed::outbox;
using ftlfeed::core::Failure;

namespace {

bool has_caught_up(const std::string& primary, const std::string& standby) {
    const auto written = run_sql(primary, "SELECT pg_current_wal_lsn()");
    return wait_until([&] { return run_sql(standby, "SELECT pg_last_wal_replay_lsn() >= '" + written + "'") == "t"; });
}

}  // namespace

TEST_CASE("outbox.cluster: a standby is refused since its snapshot calls open transactions finished") {
    const Cluster primary;
    const auto uri = primary.make_database("feeds");
    const auto standby = primary.make_standby();
    const auto standby_uri = standby->uri("feeds");
    Writer open(uri);
    open.touch("A");
    const auto a = open.value("SELECT pg_current_xact_id()::text");
    commit_each(uri, {"B"});
    REQUIRE(has_caught_up(uri, standby_uri));
    // Why: a cursor with the standby's snapshot would never deliver A.
    const auto visible = "SELECT pg_visible_in_snapshot('" + a + "', pg_current_snapshot())";
    CHECK(run_sql(uri, visible) == "f");
    CHECK(run_sql(standby_uri, visible) == "t");
    CHECK_THROWS_WITH_AS(static_cast<void>(connect(standby_uri)), doctest::Contains("recovery"), Failure);
    open.abort();
}

TEST_CASE("outbox.cluster: after a fail-over that lost commits the reader goes on exactly and the epoch has grown") {
    Cluster primary;
    const auto uri = primary.make_database("feeds");
    make_sink(uri);
    auto reader = snapshot_reader(uri);
    commit_each(uri, {"A", "B"});
    drain(*reader);
    const auto epoch = std::stoll(run_sql(uri, "SELECT epoch FROM cluster_epoch"));
    const auto standby = primary.make_standby();
    const auto standby_uri = standby->uri("feeds");
    commit_each(uri, {"C"});
    REQUIRE(has_caught_up(uri, standby_uri));
    // Cut off: what comes now is delivered by the old primary, and is gone on the new one.
    run_sql(standby_uri, "ALTER SYSTEM SET primary_conninfo = ''");
    run_sql(standby_uri, "SELECT pg_reload_conf()");
    REQUIRE(wait_until([&] { return run_sql(uri, "SELECT count(*) FROM pg_stat_replication") == "0"; }));
    commit_each(uri, {"lost"});
    drain(*reader);
    reader.reset();
    const auto lost = run_sql(uri, "SELECT txid FROM outbox WHERE record_id = 'lost'");
    primary.stop_immediately();
    standby->promote();
    // The new primary hands the same transaction ids out again.
    for (int i = 0; i < 5; ++i) commit_each(standby_uri, {"N" + std::to_string(i)});
    CHECK(run_sql(standby_uri, "SELECT min(txid) <= '" + lost + "' FROM outbox WHERE record_id LIKE 'N%'") == "t");
    drain(*snapshot_reader(standby_uri));
    const auto verdict = judge(standby_uri, "snapshot");
    CHECK(verdict.rows == 8);
    CHECK_MESSAGE(verdict.is_exact(), verdict);
    CHECK(std::stoll(run_sql(standby_uri, "SELECT epoch FROM cluster_epoch")) > epoch);
    CHECK(run_sql(standby_uri, "SELECT timeline FROM cluster_epoch") == "2");
}

TEST_CASE(
    "outbox.cluster: nothing is lost or repeated where the xids gain a digit but by a reader that sorts their text") {
    Cluster cluster;
    const auto wrong_uri = cluster.make_database("read_wrongly");
    const auto uri = cluster.make_database("feeds");
    const auto has_crossed = [](const std::string& database, const std::string& xid) {
        return run_sql(database, "SELECT min(txid) < '" + xid + "' AND max(txid) > '" + xid +
                                     "' FROM outbox WHERE record_kind = 'test'") == "t";
    };
    cluster.set_next_xid(99'965);
    const auto wrong = many_small_transactions(wrong_uri, Method::kTextOrder, 84);
    REQUIRE(has_crossed(wrong_uri, "100000"));
    CHECK(wrong.skipped + wrong.repeated > 0);
    cluster.set_next_xid(999'965);
    const auto verdict = many_small_transactions(uri, Method::kSnapshot, 84);
    REQUIRE(has_crossed(uri, "1000000"));
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}

TEST_CASE("outbox.cluster: nothing is lost or repeated where the xids pass 32 bits") {
    Cluster cluster;
    const auto uri = cluster.make_database("feeds");
    for (const auto xid : {2'000'000'000U, 3'900'000'000U}) {
        cluster.set_next_xid(xid);
        cluster.freeze();
    }
    cluster.set_next_xid(4'294'967'261U);
    const auto verdict = many_small_transactions(uri, Method::kSnapshot, 84);
    REQUIRE(run_sql(uri,
                    "SELECT min(txid) < '4294967296' AND max(txid) > '4294967296' FROM outbox"
                    " WHERE record_kind = 'test'") == "t");
    CHECK_MESSAGE(verdict.is_exact(), verdict);
}
