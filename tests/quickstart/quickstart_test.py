#!/usr/bin/python3
"""The quickstart as a user calls it, with programs that are built already: from other folders, twice, at once, ended by
Ctrl-C, with a wrong call. Nothing may stay behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from installation import SOURCE, binaries, generate  # noqa: E402

QUICKSTART = os.path.join(SOURCE, "examples", "quickstart.sh")
LIMIT_SECONDS = 100
DATA = {"name": "Two", "matches": [
    {"round": "Matchday 1", "date": "2026-06-11", "time": "13:00 UTC-6", "team1": "Ä", "team2": "B", "group": "Group A",
     "score": {"ft": [2, 1], "ht": [1, 0]},
     "goals1": [{"name": "O'Neil", "minute": "9"}, {"name": "Ö", "minute": "90+4", "penalty": True}],
     "goals2": [{"name": "Ö", "minute": 50, "owngoal": True}]},
    {"round": "Final", "date": "2026-06-12", "team1": "B", "team2": "Ä", "score": {"ft": [0, 0], "et": [0, 0], "p": [4, 3]}},
    {"round": "Never", "date": "2026-06-13", "team1": "B", "team2": "Ä"}]}


def start(*arguments, folder="/"):
    return subprocess.Popen([QUICKSTART, *arguments], cwd=folder, env={**os.environ, "FTL_BIN": binaries()},
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def finish(process):
    output, errors = process.communicate(timeout=LIMIT_SECONDS)
    return process.returncode, output, errors


def processes_below(folder):
    """Command lines of live processes that name the folder or work in it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                line = file.read().replace(b"\0", b" ").decode(errors="replace")
            if folder in line or os.readlink("/proc/%s/cwd" % pid).startswith(folder):
                found.append(line)
        except OSError:
            continue
    return found


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="ftl-quickstart-test-", dir="/tmp")
        os.chmod(self.temporary.name, 0o755)
        self.addCleanup(self.temporary.cleanup)
        self.folder = self.temporary.name
        with open(self.path("two.json"), "w", encoding="utf-8") as file:
            json.dump(DATA, file)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def assert_nothing_runs(self):
        self.assertEqual(processes_below(self.folder), [])

    def test_plays_data_given_by_a_relative_path_twice_in_one_folder(self):
        for _ in range(2):
            code, _, errors = finish(start("--once", "--data", "two.json", "--dir", "out", folder=self.folder))
            self.assertEqual(code, 0, errors)
            with open(self.path("out", "summary.json"), encoding="utf-8") as file:
                summary = json.load(file)
            self.assertEqual([summary[key] for key in ("fixtures", "events", "goals", "ledger_entries", "owed", "unproven",
                                                       "stale_files", "table_errors")], [2, 3, 3, 9, 0, 0, 0, 0])
            self.assertTrue(summary["totals_equal"])
            self.assertEqual(summary["files"], 5)
            self.assertFalse(os.path.exists(self.path("out", "servers")))
            self.assert_nothing_runs()

    def test_two_at_once_do_not_meet(self):
        runs = [start("--once", "--data", self.path("two.json"), "--dir", self.path(name)) for name in ("one", "other")]
        for code, _, errors in map(finish, runs):
            self.assertEqual(code, 0, errors)
        self.assert_nothing_runs()

    def test_without_a_folder_the_summary_goes_to_standard_output(self):
        code, output, errors = finish(start("--once", "--data", self.path("two.json")))
        self.assertEqual(code, 0, errors)
        self.assertEqual(json.loads(output)["fixtures"], 2)

    def test_ctrl_c_ends_everything_and_leaves_nothing(self):
        data = generate(self.path("cup.json"), "--teams", "8")
        process = start("--speed", "600", "--data", data, "--dir", self.path("out"))
        deadline = time.monotonic() + LIMIT_SECONDS
        picture = ""
        while "destination demo/directory: on" not in picture and time.monotonic() < deadline:
            picture += process.stdout.readline()
        # As a terminal does: the signal goes to the whole foreground group.
        os.killpg(process.pid, signal.SIGINT)
        code, _, errors = finish(process)
        self.assertEqual(code, 130, errors)
        self.assert_nothing_runs()
        self.assertFalse(os.path.exists(self.path("out", "servers")))

    def test_a_wrong_call_is_told_at_once(self):
        for arguments, exit_code in ((["--fast"], 2), (["--speed", "0"], 2), (["--speed", "x"], 2),
                                     (["--data", "/nonexistent.json"], 1)):
            code, _, errors = finish(start(*arguments))
            self.assertEqual(code, exit_code, errors)
            self.assertIn("quickstart: ", errors)

    def test_a_file_that_cannot_be_played_fails_with_the_reason(self):
        with open(self.path("bad.json"), "w", encoding="utf-8") as file:
            file.write("<html>")
        code, _, errors = finish(start("--once", "--data", self.path("bad.json"), "--dir", self.path("out")))
        self.assertEqual(code, 1)
        self.assertIn("not JSON", errors)
        self.assert_nothing_runs()


if __name__ == "__main__":
    unittest.main()
