// Readers known to be wrong, put through the tests that the right one passes: a test that none of them fails would be
// worth nothing (R15).

#include <doctest/doctest.h>

#include "history.hpp"
#include "outbox/sql.hpp"
#include "readers.hpp"
#include "scenarios.hpp"
#include "support/pg.hpp"
#include "support/wait.hpp"

using namespace ftl::test;
using namespace ftl::test::outbox;

TEST_CASE("outbox.canary: a reader that asks for greater ids skips a late committer") {
    const Database db;
    CHECK(late_committer(db.uri(), Method::kIdGreater).skipped == 1);
}

TEST_CASE("outbox.canary: a reader that asks for greater ids skips savepoints and prepared transactions") {
    const Database first;
    CHECK(hundred_savepoints(first.uri(), Method::kIdGreater).skipped == 51);
    const Database second;
    CHECK(prepared_transaction(second.uri(), Method::kIdGreater).skipped == 1);
}

TEST_CASE("outbox.canary: a reader that asks for greater ids skips what commits between pages") {
    const Database db;
    CHECK(commits_between_pages(db.uri(), Method::kIdGreater).skipped == 1);
}

TEST_CASE("outbox.canary: a reader below the xmin horizon stalls behind an open transaction of another database") {
    const Database db;
    const Database other(Content::kNothing);
    CHECK(read_beside_open_transaction(db.uri(), other.uri(), Method::kXminHorizon) == 0);
}

TEST_CASE("outbox.canary: a reader that locks and looks in one statement goes back and repeats") {
    const Database db;
    const auto verdict = wait_for_the_cursor(db.uri(), Method::kOneStatementLock);
    CHECK(verdict.skipped == 0);
    CHECK(verdict.repeated > 0);
}

TEST_CASE("outbox.canary: a reader whose own transaction passes for finished loses the rows that it adds") {
    const Database db;
    make_sink(db.uri());
    ReaderOptions options;
    options.uri = db.uri();
    options.consumer = "wrong";
    options.and_then_sql = "SELECT ftl_touch('test', 'own')";
    const auto reader = make_reader(Method::kOwnFinished, options);
    const auto others = passing_transactions(db.uri());
    commit_each(db.uri(), {"first"});
    // Each page adds a row: the right reader never comes to an end here.
    CHECK(wait_until([&] { return reader->read_page() == 0; }));
    CHECK(judge(db.uri(), "wrong").skipped == 1);
}
