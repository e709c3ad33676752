"""Counts from the data file what the product must have come to. Shares nothing with the product: it reads the file that
the simulator played, in openfootball's two shapes or with the additions of `ftl-sim generate` (docs/sim.md)."""

import datetime
import json
import re
from collections import namedtuple

# `team` is the side that the event counts for: for an own goal the one whose score grew.
Event = namedtuple("Event", "type minute extra_minute team player assist")

TYPE_IDS = {"goal": 14, "own_goal": 15, "penalty": 16, "missed_penalty": 17, "substitution": 18, "yellow_card": 19,
            "red_card": 20, "yellow_red_card": 21, "shootout_miss": 22, "shootout_goal": 23}
GOALS = ("goal", "own_goal", "penalty")


class Fixture:
    """One match of the file, with what must be shown of it once it is over."""

    def __init__(self, row):
        self.home, self.away = row["team1"], row["team2"]
        self.kickoff = kickoff_of(row["date"], row.get("time"))
        self.group = row.get("group")
        self.round = row["round"]
        score = row.get("score") or {}
        self.is_played = "ft" in score
        self.has_extra_time = "et" in score
        self.score = (score.get("et") or score.get("ft")) if self.is_played else None
        self.shootout = score.get("p")
        self.state = state_of(score)
        self.events = list(self.read_events(row)) if self.is_played else []

    @property
    def identity(self):
        return (self.kickoff, self.home, self.away)

    @property
    def goals(self):
        return [event for event in self.events if event.type in GOALS]

    def read_events(self, row):
        for number, own, other in (("1", self.home, self.away), ("2", self.away, self.home)):
            for goal in row.get("goals" + number) or []:
                kind = "own_goal" if goal.get("owngoal") else "penalty" if goal.get("penalty") else "goal"
                yield self.event(kind, goal, own, goal.get("assist"))
            for card in row.get("cards" + number) or []:
                yield self.event(card["card"].replace("-", "_") + "_card", card, own, None)
            for change in row.get("subs" + number) or []:
                yield self.event("substitution", change, own, change.get("off"))
            for miss in row.get("missed" + number) or []:
                yield self.event("missed_penalty", miss, own, None)
        for kick in row.get("shootout") or []:
            kind = "shootout_goal" if kick.get("scored") else "shootout_miss"
            yield Event(kind, 120, None, self.home if kick["team"] == 1 else self.away, kick["name"], None)

    def event(self, kind, row, team, other_player):
        minute, added = minute_of(row, self.has_extra_time)
        return Event(kind, minute, added or None, team, row["name"], other_player)

    def player_team(self, event):
        """The team that the player plays for: an own goal counts for the other one."""
        if event.type != "own_goal":
            return event.team
        return self.away if event.team == self.home else self.home


def kickoff_of(date, time):
    """No zone means UTC, no time midnight; "13:00 UTC-6" is read."""
    match = re.fullmatch(r"\s*(\d{1,2}):(\d{2})(?:\s*UTC(?:([+-])(\d{1,2})(?::?(\d{2}))?)?)?\s*", time or "0:00")
    if not match:
        raise ValueError("cannot read the time %r" % time)
    hours, minutes, sign, zone_hours, zone_minutes = match.groups()
    offset = datetime.timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    moment = datetime.datetime.strptime(date, "%Y-%m-%d") + datetime.timedelta(hours=int(hours), minutes=int(minutes))
    moment += offset if sign == "-" else -offset
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def state_of(score):
    if "ft" not in score:
        return "NS"
    if "p" in score:
        return "FT_PEN"
    return "AET" if "et" in score else "FT"


def minute_of(row, has_extra_time):
    text = str(row["minute"])
    minute, _, added = text.partition("+")
    minute, added = int(minute), int(added or row.get("offset") or 0)
    last = 120 if has_extra_time else 90
    if minute > last:  # "92" in a match without extra time is 90+2.
        minute, added = last, minute - last + added
    return minute, added


class Recount:
    """Everything that follows from the file."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.fixtures = [Fixture(row) for row in json.load(file)["matches"]]
        self.by_identity = {fixture.identity: fixture for fixture in self.fixtures}
        if len(self.by_identity) != len(self.fixtures):
            raise ValueError("two matches of the file have one kick-off and the same teams")

    @property
    def played(self):
        return [fixture for fixture in self.fixtures if fixture.is_played]

    def scorers(self):
        """Rows (player, team, goals, penalties), most goals first, then fewer penalties, then names by code point."""
        counts = {}
        for fixture in self.played:
            for event in fixture.events:
                if event.type in ("goal", "penalty"):
                    goals, penalties = counts.get((event.player, event.team), (0, 0))
                    counts[event.player, event.team] = (goals + 1, penalties + (event.type == "penalty"))
        rows = [(player, team, goals, penalties) for (player, team), (goals, penalties) in counts.items()]
        return sorted(rows, key=lambda row: (-row[2], row[3], row[0], row[1]))

    def standings(self, tie_break):
        """For each group its rows (team, played, won, drawn, lost, for, against, points) in order."""
        groups = {}
        for fixture in self.fixtures:
            if fixture.group:
                rows = groups.setdefault(fixture.group, {})
                for team in (fixture.home, fixture.away):
                    rows.setdefault(team, [0] * 7)
                if fixture.is_played:
                    count_match(rows[fixture.home], *fixture.score)
                    count_match(rows[fixture.away], *reversed(fixture.score))
        return {group: sorted(((team, *row) for team, row in rows.items()), key=rank_by(tie_break))
                for group, rows in sorted(groups.items())}

    def ledger(self, rules):
        """Entries (fixture, type, role, kind of instrument, its names, micro) by rules {(type id, role): micro}."""
        entries = []
        for fixture in self.played:
            for event in fixture.goals:
                for (type_id, role), micro in rules.items():
                    if type_id != TYPE_IDS[event.type] or micro == 0:
                        continue
                    instrument = self.instrument_of(fixture, event, role)
                    if instrument:
                        entries.append((fixture.identity, event.type, role, *instrument, micro))
        return entries

    @staticmethod
    def instrument_of(fixture, event, role):
        if role == "team":
            return ("team", event.team, None)
        if role == "opponent":
            return ("team", fixture.away if event.team == fixture.home else fixture.home, None)
        if (role == "scorer") == (event.type != "own_goal") and role in ("scorer", "own_goal"):
            return ("player", event.player, fixture.player_team(event))
        if role == "assist" and event.assist:
            return ("player", event.assist, event.team)
        return None


def count_match(row, scored, conceded):
    row[0] += 1
    row[1] += scored > conceded
    row[2] += scored == conceded
    row[3] += scored < conceded
    row[4] += scored
    row[5] += conceded
    row[6] = 3 * row[1] + row[2]


def rank_by(tie_break):
    figures = {"points": lambda row: -row[7], "goal_difference": lambda row: row[6] - row[5],
               "goals_for": lambda row: -row[5], "wins": lambda row: -row[2], "team": lambda row: row[0]}
    unknown = set(tie_break) - set(figures)
    if unknown:
        raise ValueError("this checker cannot count by %s" % ", ".join(sorted(unknown)))
    return lambda row: tuple(figures[word](row) for word in [*tie_break, "team"])
