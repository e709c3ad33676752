#!/usr/bin/env python3
"""The benches' harness: medians, and whose processor time counts as a disturbance."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ["FTL_SOURCE_DIR"])
sys.path.insert(0, str(SOURCE / "bench"))
import harness  # noqa: E402


class Others(unittest.TestCase):
    # 1 is init, 2 the kernel's threads, 10 a shell, 20 the harness below it, 30 a server, 40 somebody else.
    BEFORE = {1: (0, 5.0), 2: (0, 0.0), 3: (2, 1.0), 10: (1, 2.0), 20: (10, 0.0), 30: (1, 1.0), 40: (1, 7.0)}
    ROOTS = {20, 30}

    def used(self, **changes):
        after = dict(self.BEFORE)
        after.update({int(pid[1:]): value for pid, value in changes.items()})
        return harness.seconds_of_others(self.BEFORE, after, self.ROOTS)

    def test_quiet(self):
        self.assertEqual(self.used(), 0.0)

    def test_ours_are_free(self):
        self.assertEqual(self.used(p20=(10, 9.0), p21=(20, 4.0), p30=(1, 8.0), p31=(30, 2.0)), 0.0)

    def test_kernel_threads_are_free(self):
        self.assertEqual(self.used(p3=(2, 9.0)), 0.0)

    def test_somebody_else(self):
        self.assertEqual(self.used(p40=(1, 7.5)), 0.5)

    def test_somebody_new(self):
        self.assertEqual(self.used(p41=(1, 0.25)), 0.25)


class Figures(unittest.TestCase):
    ROUNDS = [{"ms": 3.0}, {"ms": 1.0}, {"ms": 2.0}]

    def test_medians(self):
        self.assertEqual(harness.medians(self.ROUNDS), {"ms": 2.0})

    def test_table_shows_the_range(self):
        self.assertEqual(harness.table(self.ROUNDS)[1].split(), ["ms", "2", "1", "3"])

    def test_a_name_with_parentheses(self):
        text = "7 (a) b) R 3 0 0 0 0 0 0 0 0 0 100 50 25 25 0"
        self.assertEqual(harness.parse_stat(text), (3, 200 / os.sysconf("SC_CLK_TCK")))


class Disturbance(unittest.TestCase):
    def test_a_busy_neighbour_is_seen(self):
        """Canary: a real process beside the measurement that takes a core, as much as it gets."""
        before = harness.processes()
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner:
            try:
                deadline = time.monotonic() + 30
                used = 0.0
                while used < 0.3 and time.monotonic() < deadline:
                    # Roots that are not us: the spinner is somebody else's child then.
                    used = harness.seconds_of_others(before, {spinner.pid: harness.processes()[spinner.pid]}, {-1})
                self.assertGreaterEqual(used, 0.3)
            finally:
                spinner.kill()


class Command(unittest.TestCase):
    def test_usage(self):
        for arguments in [["no-such-bench"], [], ["../x"]]:
            done = subprocess.run([SOURCE / "bench/run.sh", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, arguments)

    def test_a_flat_result_is_written(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "fast").mkdir()
            (folder / "harness.py").write_text((SOURCE / "bench/harness.py").read_text())
            (folder / "fast/run").write_text('#!/bin/sh\necho said first\necho "{\\"ms\\": $1}"\n')
            (folder / "fast/run").chmod(0o755)
            done = subprocess.run([sys.executable, "-B", folder / "harness.py", "fast"], capture_output=True, text=True,
                                  check=False)
            # Tests run beside each other, so it may call itself disturbed.
            self.assertIn(done.returncode, (0, harness.EXIT_DISTURBED), done.stderr)
            text = (folder / "results/fast.json").read_text()
            self.assertIn('"ms": 2', text)
            self.assertIn('"rounds": 5', text)
            self.assertIn('"commit"', text)


if __name__ == "__main__":
    unittest.main()
