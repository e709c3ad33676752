#include <doctest/doctest.h>

#include <string>

#include "support/pg.hpp"

using namespace ftl::test;

TEST_CASE("house: two test databases do not see each other") {
    const Database one;
    const Database two;
    one.exec("CREATE TABLE only_here AS SELECT 1 AS x");
    CHECK(one.value("SELECT x FROM only_here") == "1");
    CHECK(two.value("SELECT to_regclass('only_here')") == "NULL");
}

TEST_CASE("house: a test database has every migration") {
    const Database database;
    CHECK(database.value("SELECT count(*) > 0 AND NOT bool_or(dirty) FROM schema_migrations") == "t");
    CHECK(database.value("SELECT to_regclass('outbox')") == "outbox");
}

TEST_CASE("house: an empty test database has no table") {
    const Database database(Content::kNothing);
    CHECK(database.value("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace") == "0");
}
