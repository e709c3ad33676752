#!/usr/bin/python3
"""Kills programs while a tournament plays, and compares the end with that of an undisturbed run.

  crash_test.py kills    our programs, a webhook, Postgres and Redis in turn, at random moments; 3 seeds, 20 with FTL_FULL
  crash_test.py steps    ends programs right after their n-th durable step, for small n; for every n with FTL_FULL
  crash_test.py canary   plants losses after a run: the comparison must find each

FTL_SEED sets the first seed. The programs are those of FTL_BINARY_DIR/bin (or FTL_BIN); the servers are our own, real
ones, and what the client has is read from its folder and from the log of a watcher that is never killed."""

import os
import random
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "checker"))

import compare  # noqa: E402
import places  # noqa: E402
from installation import EVENT, Installation, Servers, execute, generate  # noqa: E402
from product import Product  # noqa: E402
from receiver import Receiver  # noqa: E402
from recount import Recount  # noqa: E402
from state import differences, read_state  # noqa: E402

PROGRAMS = ("ftl-ingest", "ftl-deliver")
END_SECONDS = 300
CRASH_EXIT_CODE = 137
KILLS_MIN = 9
# Between two kills the provider goes on by some instants, so that a slow machine gets as far as a quick one, and then a
# moment passes, so that a kill may fall anywhere.
INSTANTS_BETWEEN = (2, 12)
PAUSE_SECONDS_MAX = 0.25
PROGRESS_SECONDS = 60
STEPS_MAX = 2_000


class Arena:
    """One pair of servers, one tournament, and the end of its undisturbed run."""

    def __init__(self, folder, *options, has_places=False):
        self.folder, self.has_places = folder, has_places
        self.data = generate(os.path.join(folder, "tournament.json"), *options)
        self.servers = Servers(os.path.join(folder, "servers"))
        self.runs = 0
        self.undisturbed = None

    def installation(self, poll_interval_ms="0"):
        self.runs += 1
        folder = os.path.join(self.folder, "run%d" % self.runs)
        return Installation(folder, self.servers.uri, "crash_%d" % self.runs, self.data, poll_interval_ms,
                            self.servers.redis if self.has_places else None)

    def play_undisturbed(self):
        with self.installation() as installation:
            installation.start_simulator()
            for name in PROGRAMS:
                installation.start(name)
            installation.wait_until_end(END_SECONDS)
            installation.stop_all()
            self.undisturbed = read_state(installation.uri)
            check(self.faults(installation, has_kills=False), "the undisturbed run")
            return installation

    def faults(self, installation, has_kills):
        """Everything that is wrong at the end of a run."""
        lines = differences(self.undisturbed, read_state(installation.uri))
        product = Product(installation.uri, EVENT)
        try:
            receiver = Receiver(installation.client_folder, installation.client_folder + ".jsonl")
            if product.owed() or product.unbuilt():
                lines.append("%d files owed, %d to be built" % (product.owed(), product.unbuilt()))
            compare.check_files(Recount(self.data), product, receiver, lines)
            compare.check_proofs(product, receiver, "directory", has_kills, lines)
            if self.has_places:
                places.check_all(product, installation.path("receivers"),
                                 [self.servers.redis, installation.client_redis], has_kills, lines)
            unexplained = product.missing_touches()
            if unexplained:
                lines.append("the audit found files that changed without a touch: %s" % unexplained)
        finally:
            product.connection.close()
        return lines

    def stop(self):
        self.servers.stop()


def check(lines, what):
    if lines:
        raise AssertionError("%s:\n  %s" % (what, "\n  ".join(lines[:40])))


def tell(text):
    print("crash: " + text, flush=True)


# --- Random kills ---------------------------------------------------------------------------------------------------

def disturb(installation, servers, name):
    if name == "postgres":
        servers.restart_postgres_immediately()
        return
    if name == "redis":
        servers.restart_redis()
        return
    if name == "flush":
        servers.redis_cli("FLUSHALL")
        return
    ended_with = installation.kill(name)
    if ended_with is not None:
        raise AssertionError("%s had ended by itself with %d\n%s" % (name, ended_with, installation.log_tail(name)))
    installation.start(name)


def status_of(installation):
    try:
        return installation.watcher().provider()
    except OSError:
        return {"at_end": False, "clock": ""}


def is_played(installation):
    return status_of(installation)["at_end"]


def wait_for_instants(installation, count):
    """Until the provider's clock has moved `count` times, or everything is played."""
    last, deadline = status_of(installation)["clock"], time.monotonic() + PROGRESS_SECONDS
    while count > 0 and time.monotonic() < deadline:
        status = status_of(installation)
        if status["at_end"]:
            return
        if status["clock"] != last:
            last, count = status["clock"], count - 1
        time.sleep(0.005)


def play_with_kills(arena, seed):
    dice = random.Random(seed)
    victims = [*PROGRAMS, "ftl-serve", "webhook", "postgres", "redis", "flush"]
    kills = 0
    with arena.installation(poll_interval_ms="10") as installation:
        installation.start_simulator()
        for name in PROGRAMS:
            installation.start(name)
        while not is_played(installation) or kills < KILLS_MIN:
            wait_for_instants(installation, dice.randint(*INSTANTS_BETWEEN))
            time.sleep(dice.uniform(0, PAUSE_SECONDS_MAX))
            if kills % len(victims) == 0:
                dice.shuffle(victims)
            disturb(installation, arena.servers, victims[kills % len(victims)])
            kills += 1
        installation.wait_until_end(END_SECONDS)
        installation.stop_all()
        check(arena.faults(installation, has_kills=True), "FTL_SEED=%d, after %d kills" % (seed, kills))
    return kills


def kills(folder):
    arena = Arena(folder, "--teams", "8", "--matches", "7", "--seed", "3", has_places=True)
    try:
        arena.play_undisturbed()
        first = int(os.environ.get("FTL_SEED") or random.SystemRandom().randrange(1_000_000))
        for seed in range(first, first + (20 if os.environ.get("FTL_FULL") else 3)):
            tell("FTL_SEED=%d" % seed)
            begin = time.monotonic()
            tell("%d kills, equal to the undisturbed run, %.1f s" % (play_with_kills(arena, seed), time.monotonic() - begin))
    finally:
        arena.stop()


# --- Durable steps --------------------------------------------------------------------------------------------------

def restart_after_crashes(installation, next_step):
    """Starts every program again that its crash point has ended. `next_step(name)` gives the step for the new start, or
    None. Returns how many had ended."""
    ended = 0
    for name in PROGRAMS:
        code = installation.programs[name].poll()
        if code is None:
            continue
        if code != CRASH_EXIT_CODE:
            raise AssertionError("%s ended with %d\n%s" % (name, code, installation.log_tail(name)))
        ended += 1
        installation.kill(name)
        start_at(installation, name, next_step(name))
    return ended


def start_at(installation, name, step):
    installation.start(name, {"FTL_CRASH_AT": str(step)} if step else None)


def play_with_steps(arena, first_steps, next_step):
    """Plays with crash points. Returns how often a program ended at one."""
    ended = 0
    with arena.installation() as installation:
        installation.start_simulator()
        for name in PROGRAMS:
            start_at(installation, name, first_steps.get(name))
        deadline = time.monotonic() + END_SECONDS
        while not is_played(installation):
            ended += restart_after_crashes(installation, next_step)
            if time.monotonic() > deadline:
                raise AssertionError("the tournament does not come to its end")
            time.sleep(0.02)
        # From here on nothing crashes any more: those that still would are started anew.
        for name in PROGRAMS:
            installation.kill(name)
            installation.start(name)
        installation.wait_until_end(END_SECONDS)
        installation.stop_all()
        check(arena.faults(installation, has_kills=True), "steps from %s" % first_steps)
    return ended


def steps_in_turn(arena):
    """One run in which each start of a program gets a bit further than the one before."""
    tried = {name: [1] for name in PROGRAMS}

    def next_step(name):
        tried[name].append(tried[name][-1] + 1 + tried[name][-1] // 4)
        return tried[name][-1]

    ended = play_with_steps(arena, {name: steps[0] for name, steps in tried.items()}, next_step)
    tell("ended %d times at steps among %s, equal to the undisturbed run" % (ended, tried))
    if ended < 6:
        raise AssertionError("only %d programs ended at a crash point: is FTL_CRASH_POINTS compiled in?" % ended)


def every_step(arena, name):
    """One run for each step of one program, until a run has no such step any more."""
    for step in range(1, STEPS_MAX):
        if play_with_steps(arena, {name: step}, lambda _: None) == 0:
            tell("%s: each of its %d steps, equal to the undisturbed run" % (name, step - 1))
            return
    raise AssertionError("%s has more than %d steps" % (name, STEPS_MAX))


def steps(folder):
    arena = Arena(folder, "--teams", "8", "--matches", "2", "--seed", "5")
    try:
        arena.play_undisturbed()
        steps_in_turn(arena)
        if os.environ.get("FTL_FULL"):
            for name in PROGRAMS:
                every_step(arena, name)
    finally:
        arena.stop()


# --- Canary ---------------------------------------------------------------------------------------------------------

LOSSES = {
    "a lost event": ["DELETE FROM event_bump_log WHERE provider_event_id = (SELECT min(provider_event_id) FROM match_events)",
                     "DELETE FROM match_event_revision WHERE match_event_id = (SELECT id FROM match_events "
                     "ORDER BY provider_event_id LIMIT 1)",
                     "DELETE FROM match_events WHERE id = (SELECT id FROM match_events ORDER BY provider_event_id LIMIT 1)"],
    "an entry that was made twice": [
        "INSERT INTO event_bump_log (provider, fixture_id, provider_event_id, instrument_id, role, entry, micro, "
        "instrument_seq) SELECT provider, fixture_id, provider_event_id, instrument_id, role, entry + 1, micro, "
        "instrument_seq FROM event_bump_log ORDER BY id LIMIT 1"],
    "a total that was moved twice": ["UPDATE instrument_bump SET total = total + 50000 WHERE instrument_id = "
                                     "(SELECT min(instrument_id) FROM instrument_bump)"],
    "a file that was not built again": ["UPDATE feed_document SET content_hash = '\\x00' WHERE feed_type = 'scorers'"],
    "a file that never came": ["UPDATE delivery_state SET sent_seq = sent_seq - 1 WHERE doc_key LIKE '%/scorers'"],
    "a proof that was not kept": ["DELETE FROM delivery_attempt WHERE id = (SELECT min(id) FROM delivery_attempt "
                                  "WHERE outcome = 'delivered')"],
}


def canary(folder):
    arena = Arena(folder, "--teams", "8", "--matches", "2", "--seed", "5")
    try:
        installation = arena.play_undisturbed()
        sound = installation.uri.rsplit("/", 1)[1]
        for name, statements in LOSSES.items():
            execute(arena.servers.uri, "DROP DATABASE IF EXISTS canary", "CREATE DATABASE canary TEMPLATE %s" % sound)
            installation.uri = arena.servers.uri.rsplit("/", 1)[0] + "/canary"
            check(arena.faults(installation, has_kills=True), "the copy, before anything was planted")
            execute(installation.uri, *statements)
            found = arena.faults(installation, has_kills=True)
            if not found:
                raise AssertionError("planted and not found: " + name)
            tell("%s is found: %s" % (name, found[0][:120]))
    finally:
        arena.stop()


def main():
    modes = {"kills": kills, "steps": steps, "canary": canary}
    if len(sys.argv) != 2 or sys.argv[1] not in modes:
        print(__doc__, file=sys.stderr)
        return 2
    # Ended from outside it still stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="ftl-crash-", dir="/tmp")
    os.chmod(folder, 0o755)
    try:
        modes[sys.argv[1]](folder)
    except AssertionError as error:
        print("crash: FAILED: %s" % error, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
