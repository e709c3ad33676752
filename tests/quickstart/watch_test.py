#!/usr/bin/python3
"""How the quickstart decides that it is over, stuck or broken, on a clock that the test moves."""

import contextlib
import io
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "quickstart"))

import watch  # noqa: E402


class Looks:
    """Gives one answer after the other, the last one for ever: (what is missing, what shows progress)."""

    def __init__(self, *answers, ended=None):
        self.answers, self.ended, self.count = list(answers), ended, 0

    def missing(self):
        answer = self.answers[min(self.count, len(self.answers) - 1)]
        self.count += 1
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ended_process(self):
        return self.ended


def run(looks):
    """Returns (exit code, seconds that passed, what was said)."""
    clock = [0.0]

    def sleep(seconds):
        clock[0] += seconds

    said = io.StringIO()
    with mock.patch.object(watch.time, "monotonic", lambda: clock[0]), mock.patch.object(watch.time, "sleep", sleep), \
            contextlib.redirect_stderr(said):
        return watch.until_end(looks), clock[0], said.getvalue()


class UntilEnd(unittest.TestCase):
    def test_it_is_over_when_nothing_was_missing_twice_in_a_row(self):
        looks = Looks(([], 1), (["owed"], 2), ([], 3), ([], 3))
        code, seconds, _ = run(looks)
        self.assertEqual((code, looks.count), (0, 4))
        self.assertEqual(seconds, 3.0)

    def test_five_minutes_without_progress_end_it_with_what_is_missing(self):
        code, seconds, said = run(Looks((["3 files are owed"], 7)))
        self.assertEqual(code, 1)
        self.assertTrue(300 < seconds <= 302, seconds)
        self.assertIn("3 files are owed", said)

    def test_progress_starts_the_five_minutes_again(self):
        slow = [(["owed"], place // 290) for place in range(3 * 290)]
        code, seconds, _ = run(Looks(*slow, ([], 9), ([], 9)))
        self.assertEqual(code, 0)
        self.assertGreater(seconds, 800)

    def test_an_answer_that_cannot_be_had_is_no_progress_and_no_end(self):
        code, seconds, said = run(Looks(OSError("refused")))
        self.assertEqual(code, 1)
        self.assertTrue(300 < seconds <= 302, seconds)
        self.assertIn("refused", said)

    def test_a_program_that_has_ended_ends_it_at_once(self):
        code, seconds, said = run(Looks((["owed"], 1), ended="ftl-deliver"))
        self.assertEqual((code, seconds), (1, 0.0))
        self.assertIn("ftl-deliver has ended", said)


if __name__ == "__main__":
    unittest.main()
