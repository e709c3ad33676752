#!/usr/bin/python3
"""The checker's own reading of the data: both of openfootball's shapes, and the rules of the counting."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from recount import Recount, kickoff_of, minute_of, rank_by  # noqa: E402


def recount(*matches):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump({"name": "Test", "matches": list(matches)}, file)
        file.flush()
        return Recount(file.name)


def match(**changes):
    return {"round": "Matchday 1", "date": "2026-06-11", "time": "12:00", "team1": "Ä", "team2": "B", "group": "Group A",
            "score": {"ft": [1, 1]}, **changes}


class Times(unittest.TestCase):
    def test_zones(self):
        self.assertEqual(kickoff_of("2026-06-11", "13:00 UTC-6"), "2026-06-11T19:00:00Z")
        self.assertEqual(kickoff_of("2026-06-11", "23:30 UTC-4"), "2026-06-12T03:30:00Z")
        self.assertEqual(kickoff_of("2026-06-11", "01:00 UTC+5:30"), "2026-06-10T19:30:00Z")
        self.assertEqual(kickoff_of("2022-11-20", "19:00"), "2022-11-20T19:00:00Z")
        self.assertEqual(kickoff_of("2022-11-20", None), "2022-11-20T00:00:00Z")
        with self.assertRaises(ValueError):
            kickoff_of("2022-11-20", "seven")

    def test_minutes_of_both_shapes(self):
        self.assertEqual(minute_of({"minute": "90+4"}, False), (90, 4))
        self.assertEqual(minute_of({"minute": 90, "offset": 4}, False), (90, 4))
        self.assertEqual(minute_of({"minute": "92"}, False), (90, 2))
        self.assertEqual(minute_of({"minute": "92"}, True), (92, 0))
        self.assertEqual(minute_of({"minute": 45, "offset": 1}, False), (45, 1))


class Counting(unittest.TestCase):
    def test_an_own_goal_counts_for_the_side_of_its_list_and_for_no_scorer(self):
        counted = recount(match(goals1=[{"name": "x", "minute": 3, "owngoal": True}], goals2=[{"name": "x", "minute": 5}]))
        self.assertEqual(counted.scorers(), [("x", "B", 1, 0)])
        entries = counted.ledger({(15, "own_goal"): -2, (15, "team"): 1, (14, "scorer"): 5, (14, "own_goal"): 9,
                                  (15, "scorer"): 9, (14, "opponent"): -1})
        self.assertEqual(sorted((entry[1], entry[2], entry[4], entry[5], entry[6]) for entry in entries),
                         sorted([("own_goal", "own_goal", "x", "B", -2), ("own_goal", "team", "Ä", None, 1),
                                 ("goal", "scorer", "x", "B", 5), ("goal", "opponent", "Ä", None, -1)]))

    def test_after_extra_time_counts_and_a_shoot_out_does_not(self):
        fixture = recount(match(group=None, score={"ft": [1, 1], "et": [2, 2], "p": [4, 3]})).fixtures[0]
        self.assertEqual((fixture.score, fixture.shootout, fixture.state), ([2, 2], [4, 3], "FT_PEN"))

    def test_a_match_without_a_score_stays_not_started(self):
        counted = recount(match(score=None, goals1=[{"name": "x", "minute": 3}]))
        self.assertEqual((counted.played, counted.scorers(), counted.fixtures[0].state), ([], [], "NS"))
        self.assertEqual([row[1] for row in counted.standings(["points"])["Group A"]], [0, 0])

    def test_equal_names_in_two_teams_are_two_players(self):
        counted = recount(match(goals1=[{"name": "x", "minute": 3}], goals2=[{"name": "x", "minute": 5, "penalty": True}]))
        self.assertEqual(counted.scorers(), [("x", "Ä", 1, 0), ("x", "B", 1, 1)])

    def test_a_table_is_ranked_by_its_words_and_then_by_name(self):
        rows = [("b", 1, 1, 0, 0, 2, 1, 3), ("a", 1, 1, 0, 0, 2, 1, 3), ("c", 1, 1, 0, 0, 3, 2, 3)]
        order = [row[0] for row in sorted(rows, key=rank_by(["points", "goal_difference", "goals_for", "team"]))]
        self.assertEqual(order, ["c", "a", "b"])
        with self.assertRaises(ValueError):
            rank_by(["points", "coin"])


if __name__ == "__main__":
    unittest.main()
