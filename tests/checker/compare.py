"""Compares the recount with the client's files, the receiver's log and the database. Every function appends what differs
to `differences` and returns its figure for the summary."""

import gzip
from collections import Counter

from recount import GOALS, TYPE_IDS
from receiver import sha256

SHOWN_MAX = 20


def note(differences, what, counted, found):
    """Tells two counters apart, a line for each thing that one of them lacks."""
    lines = ["%s: %s in the data and not in the product (%d times)" % (what, thing, times)
             for thing, times in (counted - found).items()]
    lines += ["%s: %s in the product and not in the data (%d times)" % (what, thing, times)
              for thing, times in (found - counted).items()]
    differences += lines[:SHOWN_MAX]
    if len(lines) > SHOWN_MAX:
        differences.append("%s: and %d more" % (what, len(lines) - SHOWN_MAX))
    return len(lines)


# --- The record -----------------------------------------------------------------------------------------------------

def check_record(recount, product, differences):
    """Fixtures and events in the database. Returns (terminal fixtures, events, goals)."""
    fixtures = product.fixtures()
    note(differences, "fixture", Counter(recount.by_identity.keys()), Counter(fixtures.values()))
    terminal = product.terminal_fixtures()
    if terminal != len(recount.played):
        differences.append("fixtures: %d are over in the data, %d in the product" % (len(recount.played), terminal))
    found = product.events()
    by_match = Counter({(fixtures.get(key[0]), *key[1:]): times for key, times in found.items()})
    counted = Counter((fixture.identity, TYPE_IDS[event.type], event.minute, event.extra_minute, event.team,
                       event.player) for fixture in recount.played for event in fixture.events)
    note(differences, "event", counted, by_match)
    goal_types = {TYPE_IDS[kind] for kind in GOALS}
    if product.quarantined():
        differences.append("quarantine: %d payloads of a sound provider" % product.quarantined())
    return terminal, sum(found.values()), sum(times for key, times in found.items() if key[1] in goal_types)


def check_ledger(recount, product, differences):
    """Entries against the rules. Returns (entries, whether every total is what the data says)."""
    rules = product.rules()
    foreign = [type_id for type_id, _ in rules if type_id not in {TYPE_IDS[kind] for kind in GOALS}]
    if foreign:
        raise ValueError("this checker knows rules for goals only, not for type %s" % foreign)
    fixtures = product.fixtures()
    entries = product.ledger()
    found = Counter((fixtures.get(entry[0]), *entry[1:]) for entry in entries)
    counted = Counter((entry[0], TYPE_IDS[entry[1]], *entry[2:]) for entry in recount.ledger(rules))
    note(differences, "ledger", counted, found)
    wanted = Counter()
    for entry in recount.ledger(rules):
        wanted[entry[3:6]] += entry[6]
    return len(entries), check_totals(wanted, product.totals(), differences)


def check_totals(wanted, totals, differences):
    before = len(differences)
    seen = set()
    for kind, name, team, total, net, seq, entries, tick in totals:
        instrument = (kind, name, team)
        seen.add(instrument)
        if (total or 0) != wanted.get(instrument, 0):
            differences.append("total of %s: %s in the product, %d by the data" % (instrument, total, wanted[instrument]))
        if (total or 0) != net:
            differences.append("total of %s: %s, but its ledger sums up to %s" % (instrument, total, net))
        if seq != entries or (entries and tick != total):
            differences.append("total of %s: seq %s after %s entries, newest tick %s" % (instrument, seq, entries, tick))
    differences += ["total of %s: the instrument is missing" % (key,) for key in set(wanted) - seen]
    return len(differences) == before


# --- The files ------------------------------------------------------------------------------------------------------

def shown_fixture(fixture, provider_id):
    pair = lambda score: None if score is None else {"home": score[0], "away": score[1]}
    return {"id": provider_id, "kickoff": fixture.kickoff, "state": fixture.state, "group": fixture.group,
            "round": fixture.round, "home": {"name": fixture.home}, "away": {"name": fixture.away},
            "score": pair(fixture.score), "shootout": pair(fixture.shootout)}


def ids_by_identity(product):
    return {identity: provider_id for provider_id, identity in product.fixtures().items()}


def check_calendar(recount, product, receiver, differences):
    """Returns how many fixtures' rows are wrong."""
    body = receiver.read_json("%s/calendar.json" % product.code) or {}
    if body.get("event") != product.code:
        differences.append("calendar: event is %r" % body.get("event"))
    ids = ids_by_identity(product)
    wanted = sorted((shown_fixture(fixture, ids.get(fixture.identity)) for fixture in recount.fixtures),
                    key=lambda row: (row["kickoff"], row["id"] or 0))
    return count_wrong_rows("calendar", wanted, body.get("fixtures") or [], differences)


def check_scorers(recount, product, receiver, differences):
    body = receiver.read_json("%s/scorers.json" % product.code) or {}
    wanted = [dict(zip(("player", "team", "goals", "penalties"), row)) for row in recount.scorers()]
    return count_wrong_rows("scorers", wanted, body.get("scorers") or [], differences)


def check_standings(recount, product, receiver, differences):
    body = receiver.read_json("%s/standings.json" % product.code) or {}
    fields = ("team", "played", "won", "drawn", "lost", "goals_for", "goals_against", "points")
    wanted = [{"group": group, **dict(zip(fields, row))}
              for group, rows in recount.standings(product.tie_break).items() for row in rows]
    found = [{"group": group.get("name"), **row} for group in body.get("groups") or [] for row in group.get("rows") or []]
    return count_wrong_rows("standings", wanted, found, differences)


def count_wrong_rows(what, wanted, found, differences):
    """Rows at the wrong place count as wrong: the order is part of a table."""
    wrong = 0
    for place in range(max(len(wanted), len(found))):
        should = wanted[place] if place < len(wanted) else None
        is_there = found[place] if place < len(found) else None
        if should != is_there:
            wrong += 1
            if wrong <= SHOWN_MAX:
                differences.append("%s, row %d: %s in the file, %s by the data" % (what, place + 1, is_there, should))
    return wrong


def check_timelines(recount, product, receiver, differences):
    ids = ids_by_identity(product)
    for fixture in recount.played:
        provider_id = ids.get(fixture.identity)
        path = "%s/timeline/%s.json" % (product.code, provider_id)
        body = receiver.read_json(path)
        if body is None:
            differences.append("%s is missing or is not JSON (%s)" % (path, fixture.identity))
            continue
        if body.get("fixture") != shown_fixture(fixture, provider_id):
            differences.append("%s: fixture is %s" % (path, body.get("fixture")))
        rows = [tuple(sorted(row.items(), key=lambda item: item[0])) for row in body.get("events") or []]
        wanted = Counter(tuple(sorted(event._asdict().items())) for event in fixture.events)
        note(differences, path, wanted, Counter(rows))
        times = [(row.get("minute"), row.get("extra_minute") or 0) for row in body.get("events") or []]
        if times != sorted(times, reverse=True):
            differences.append("%s: events are not sorted, newest first" % path)


def check_files(recount, product, receiver, differences):
    """Files that must be there, and no other one. Returns (files, those whose bytes are not their newest version's)."""
    ids = ids_by_identity(product)
    wanted = {"%s/%s" % (product.code, feed) for feed in ("calendar", "scorers", "standings")}
    wanted |= {"%s/timeline/%s" % (product.code, ids.get(fixture.identity)) for fixture in recount.played}
    documents = {key: row for key, row in product.documents().items() if not row[4]}
    note(differences, "file", Counter(wanted), Counter(documents.keys()))
    note(differences, "client's folder", Counter(key + ".json" for key in wanted), Counter(receiver.paths()))
    stale = 0
    for key, (_, _, digest, body_gz, _) in sorted(documents.items()):
        body = receiver.read(key + ".json")
        if sha256(gzip.decompress(bytes(body_gz))) != digest:
            differences.append("%s: the stored body does not have its own hash" % key)
        if body is None or sha256(body) != digest:
            stale += 1
            differences.append("%s: the client's file is not the newest version" % key)
    return len(documents), stale


# --- The proofs -----------------------------------------------------------------------------------------------------

def check_versions(product, destination, differences):
    """Each document and each proof has its version, with the same bytes, and the newest one is proven."""
    versions = product.versions()
    proofs = product.proofs(destination)
    proven = Counter((key, epoch, seq) for key, epoch, seq, _, _, _ in proofs)
    for key, (epoch, seq, digest, _, is_retired) in product.documents().items():
        if versions.get((key, epoch, seq), (None,))[0] != digest:
            differences.append("%s: version %s:%s is not in the history as it is in the document" % (key, epoch, seq))
        if (key, epoch, seq) not in proven and not is_retired:
            differences.append("%s: there is no proof of its newest version %s:%s" % (key, epoch, seq))
    for key, epoch, seq, outcome, _, digest in proofs:
        if (key, epoch, seq) not in versions:
            differences.append("%s: a proof names version %s:%s, which the history lacks" % (key, epoch, seq))
        elif digest != versions[key, epoch, seq][0]:
            differences.append("%s: the proof of %s:%s is of other bytes (%s)" % (key, epoch, seq, outcome))
    differences += ["%s: %d proofs of version %s:%s" % (key, times, epoch, seq)
                    for (key, epoch, seq), times in proven.items() if times > 1]
    return len(versions), sum(1 for proof in proofs if proof[3] == "delivered")


def repeats_of(renames):
    """Renames that put the same bytes again: a version that was sent once more after a kill."""
    return sum(1 for place in range(1, len(renames)) if renames[place][1] == renames[place - 1][1])


def check_proofs(product, receiver, destination, has_kills, differences):
    """The renames of a path are as many as its proofs, and the last rename is the last proof's. After a kill a version
    may have been sent once more: such repeats have their proof. Returns how many versions or proofs stand alone."""
    proofs = {}
    for _, _, _, outcome, path, digest in product.proofs(destination):
        if outcome == "delivered":
            proofs.setdefault(path, []).append(digest)
    unproven = 0
    for path in sorted(set(proofs) | set(receiver.renames)):
        renames, proven = receiver.renames.get(path, []), proofs.get(path, [])
        surplus = len(renames) - len(proven)
        if has_kills and surplus > 0:
            surplus = max(0, surplus - repeats_of(renames))
        if surplus:
            unproven += abs(surplus)
            differences.append("%s: %d renames in the log, %d proofs" % (path, len(renames), len(proven)))
        elif renames[-1][1] != proven[-1]:
            unproven += 1
            differences.append("%s: the last rename in the log is not of the last proof's bytes" % path)
    return unproven


def change_to_file(product, receiver, destination):
    """Milliseconds from the change, by Postgres's clock, to the rename that the receiver saw: p50, p95, max."""
    versions = product.versions()
    proofs = {}
    for key, epoch, seq, outcome, path, _ in product.proofs(destination):
        if outcome == "delivered" and (key, epoch, seq) in versions:
            proofs.setdefault(path, []).append(versions[key, epoch, seq])
    delays = []
    for path, proven in proofs.items():
        renames = receiver.renames.get(path, [])
        if len(renames) == len(proven):
            delays += [(time - changed_at).total_seconds() * 1000 for (time, _), (_, changed_at) in zip(renames, proven)]
    delays.sort()
    at = lambda share: round(delays[min(len(delays) - 1, int(share * len(delays)))], 1) if delays else None
    return {"p50": at(0.5), "p95": at(0.95), "max": round(delays[-1], 1) if delays else None}
