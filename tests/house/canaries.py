#!/usr/bin/env python3
"""Plants a violation of every rule in a small tree and sees that the rule finds it, and nothing in the tree without."""

import tempfile
import unittest
from pathlib import Path

import rules

GOOD_TREE = {
    "include/ftlfeed/core/clock.hpp": "#pragma once\n#include <chrono>\n// boost:: and <pqxx/pqxx> only in words\n",
    "include/ftlfeed/outbox/touch.hpp": "#pragma once\n#include <ftlfeed/core/clock.hpp>\n"
                                        "namespace pqxx { class transaction_base; }\nvoid touch(pqxx::transaction_base&);\n",
    "lib/core/clock.cpp": "#include <ftlfeed/core/clock.hpp>\n#include <spdlog/spdlog.h>\n",
    "lib/core/README.md": "core\n",
    "lib/outbox/touch.cpp": '#include <ftlfeed/outbox/touch.hpp>\n#include "outbox/sql.hpp"\n#include "core/clock.hpp"\n',
    "lib/outbox/README.md": "outbox\n",
    "migrations/000001_a.up.sql": "-- DROP TABLE old;\nCREATE TABLE IF NOT EXISTS a (id bigint);\n"
                                  "CREATE OR REPLACE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$\n"
                                  "BEGIN CREATE TEMP TABLE b (id int); DROP TABLE b; END $$;\n",
    "migrations/000001_a.down.sql": "DROP TABLE a;\n",
}


class Tree(unittest.TestCase):
    """A small tree that keeps every rule; a test adds what breaks one."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="ftl-house-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for folder_name in ["include", "lib", "apps", "tests", "bench", "migrations"]:
            (self.root / folder_name).mkdir()
        for name, text in GOOD_TREE.items():
            self.write(name, text)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_found(self, rule, wanted):
        lines = list(rule(self.root))
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(wanted, lines[0])

    def assert_clean(self, rule):
        self.assertEqual(list(rule(self.root)), [])


class Floors(Tree):
    def test_good(self):
        self.assert_clean(rules.floors)

    def test_room_above(self):
        self.write("lib/core/bad.cpp", "#include <ftlfeed/outbox/touch.hpp>\n")
        self.assert_found(rules.floors, "core includes ftlfeed/outbox/touch.hpp")

    def test_room_beside(self):
        self.write("lib/capture/bad.cpp", "#  include <ftlfeed/build/builder.hpp>\n")
        self.assert_found(rules.floors, "capture includes ftlfeed/build/builder.hpp")

    def test_private_header_of_another_room(self):
        self.write("include/ftlfeed/store/bad.hpp", '#include "capture/sql.hpp"\n')
        self.assert_found(rules.floors, "store includes capture/sql.hpp")

    def test_unknown_room(self):
        self.write("lib/helpers/x.cpp", "")
        self.assert_found(rules.floors, "'helpers' is no room")

    def test_way_round_by_a_relative_path(self):
        self.write("lib/core/bad.cpp", '#include "../deliver/pace.hpp"\n')
        self.assert_found(rules.floors, "includes ../deliver/pace.hpp")


class ForeignHeaders(Tree):
    def test_good(self):
        self.assert_clean(rules.foreign_headers)

    def test_include(self):
        self.write("include/ftlfeed/core/log.hpp", "#include <spdlog/spdlog.h>\n")
        self.assert_found(rules.foreign_headers, "foreign header spdlog/spdlog.h")

    def test_c_library(self):
        self.write("include/ftlfeed/core/log.hpp", "#include <curl/curl.h>\n")
        self.assert_found(rules.foreign_headers, "foreign header curl/curl.h")

    def test_type_without_include(self):
        self.write("include/ftlfeed/core/log.hpp", "namespace pqxx { class result; }\npqxx::result rows();\n")
        self.assert_found(rules.foreign_headers, "a type of pqxx")


class Pages(Tree):
    def test_good(self):
        self.assert_clean(rules.file_length)
        self.assert_clean(rules.room_pages)
        self.assert_clean(rules.words)

    def test_long_file(self):
        self.write("lib/core/long.cpp", "int x;\n" * 501)
        self.assert_found(rules.file_length, "501 lines")

    def test_room_without_page(self):
        self.write("lib/net/x.cpp", "")
        self.assert_found(rules.room_pages, "lib/net: has no README.md")

    def test_path_of_a_machine(self):
        self.write("docs/x.md", "one\nsee " + "/ho" + "me/somebody/notes\n")
        self.assert_found(rules.words, "docs/x.md:2")
        self.write("docs/x.md", f"see {self.root}/docs\n")
        self.assert_found(rules.words, "docs/x.md:1")


class AdditiveMigrations(Tree):
    def test_good(self):
        self.assert_clean(rules.additive_migrations)

    def planted(self, sql, wanted):
        self.write("migrations/000002_b.up.sql", sql)
        self.write("migrations/000002_b.down.sql", "")
        self.assert_found(rules.additive_migrations, wanted)

    def test_table(self):
        self.planted("CREATE TABLE b (id int);", "not IF NOT EXISTS")

    def test_index(self):
        self.planted("CREATE UNIQUE INDEX b ON a (id);", "not IF NOT EXISTS")

    def test_column(self):
        self.planted("ALTER TABLE a ADD COLUMN c int;", "not IF NOT EXISTS")

    def test_function(self):
        self.planted("CREATE FUNCTION g() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$;", "not OR REPLACE")

    def test_drop(self):
        self.planted("DROP TABLE IF EXISTS a;", "takes something away")

    def test_drop_column(self):
        self.planted("ALTER TABLE a\n  DROP COLUMN id;", "takes something away")

    def test_gap_in_numbers(self):
        self.write("migrations/000003_b.up.sql", "")
        self.write("migrations/000003_b.down.sql", "")
        self.assert_found(rules.additive_migrations, "the numbers are [1, 3]")

    def test_no_down_file(self):
        self.write("migrations/000002_b.up.sql", "")
        self.assert_found(rules.additive_migrations, "has no .down.sql")


class TestNames(unittest.TestCase):
    def found(self, name, labels=("core", "unit")):
        return list(rules.test_names([{"name": name, "labels": set(labels)}]))

    def test_good(self):
        self.assertEqual(self.found("B21: an answer that's cut (half) is no snapshot"), [])

    def test_characters(self):
        for character in rules.TEST_NAME_FORBIDDEN:
            self.assertEqual(len(self.found(f"a{character}b")), 1, character)

    def test_labels(self):
        self.assertIn("no label says what it needs", self.found("a", ["core", "threads"])[0])
        self.assertIn("no label says its room", self.found("a", ["unit", "threads"])[0])
        self.assertEqual(self.found("a", ["net", "unit"]), [])

    def test_twice(self):
        tests = [{"name": "a", "labels": {"core", "unit"}}, {"name": "a", "labels": {"net", "unit"}}]
        self.assertEqual(len(list(rules.test_names(tests))), 1)

    def test_not_built(self):
        self.assertIn("was not built", self.found("core_test_NOT_BUILT-b858cb2")[0])


class Promises(unittest.TestCase):
    TESTS = [{"name": "B21: kept", "labels": set()}]
    HEAD = "| ID | Promise | Test |\n|---|---|---|\n"

    def found(self, rows):
        return list(rules.promises(self.HEAD + rows, self.TESTS))

    def test_good(self):
        self.assertEqual(self.found("| B21 | is kept | `B21: kept` |\n"), [])

    def test_no_such_test(self):
        self.assertIn("no test is called B21: broken", self.found("| B21 | is kept | `B21: broken` |\n")[0])

    def test_no_test_named(self):
        self.assertIn("not of the form", self.found("| B21 | is kept | soon |\n")[0])

    def test_empty(self):
        self.assertIn("lists no promise", self.found("")[0])


class DocumentedSettings(unittest.TestCase):
    HELP = {"ftl-ingest": "Settings:\n  --capture.poll_interval_ms MS  how often\n"}

    def test_good(self):
        page = "| `capture.poll_interval_ms` | how often |\n"
        self.assertEqual(list(rules.documented_settings(self.HELP, page)), [])

    def test_undocumented(self):
        found = list(rules.documented_settings(self.HELP, "`capture.poll_interval_ms` in passing\n"))
        self.assertIn("lacks `capture.poll_interval_ms`", found[0])

    def test_invented(self):
        page = "| `capture.poll_interval_ms` | how often |\n| `capture.colour` | which |\n"
        self.assertIn("`capture.colour` is no setting", list(rules.documented_settings(self.HELP, page))[0])

    def test_help_without_settings(self):
        self.assertIn("lists no setting", list(rules.documented_settings({"ftl-ingest": ""}, ""))[0])


if __name__ == "__main__":
    unittest.main()
