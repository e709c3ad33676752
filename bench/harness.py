#!/usr/bin/env python3
"""Runs a bench round by round and makes a table and a file of its medians. bench/run.sh calls it."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROUNDS_MIN = 5
OTHERS_SHARE_MAX = 0.15
EXIT_DISTURBED = 3
BENCH = Path(__file__).resolve().parent


def parse_stat(text):
    """(parent, seconds of processor with that of the children it waited for) of a /proc/PID/stat."""
    # The name may hold spaces and parentheses; what follows the last one is fixed.
    fields = text[text.rindex(")") + 2:].split()
    ticks = sum(int(fields[i]) for i in (11, 12, 13, 14))
    return int(fields[1]), ticks / os.sysconf("SC_CLK_TCK")


def processes():
    """pid -> (parent, seconds) of all that run now. A process that ends meanwhile is in its parent's figure."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = parse_stat((folder / "stat").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def tree(table, roots):
    """The pids of `roots` and of all that descends from them."""
    members = set(roots)
    grown = True
    while grown:
        grown = False
        for pid, (parent, _) in table.items():
            if pid not in members and parent in members:
                members.add(pid)
                grown = True
    return members


def seconds_of_others(before, after, roots):
    """What processes outside our trees used between two tables. Kernel threads (children of 2) work for us too."""
    ours = tree(before, roots) | tree(after, roots) | tree(before, {2}) | tree(after, {2})
    # Whoever waits for one of ours (a shell, init) gets its time added at its end: only its own counts.
    ancestors = set()
    for root in roots:
        pid = root
        while pid in after and pid not in ancestors:
            pid = after[pid][0]
            ancestors.add(pid)
    used = 0.0
    for pid, (_, seconds) in after.items():
        if pid in ours or pid in ancestors:
            continue
        used += max(0.0, seconds - before.get(pid, (0, 0.0))[1])
    return used


def medians(rounds):
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def table(rounds):
    """Lines of text: each figure with its median and its range."""
    lines = [f"{'figure':<28} {'median':>12} {'lowest':>12} {'highest':>12}"]
    for key in rounds[0]:
        values = [one[key] for one in rounds]
        lines.append(f"{key:<28} {statistics.median(values):>12.4g} {min(values):>12.4g} {max(values):>12.4g}")
    return lines


def run_round(name, number):
    """One round of us and the peers: the last line that the bench prints is a flat object of its figures."""
    done = subprocess.run([BENCH / name / "run", str(number)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def commit():
    found = subprocess.run(["git", "-C", str(BENCH), "describe", "--always", "--dirty", "--abbrev=12"],
                           capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--rounds", type=int, default=ROUNDS_MIN)
    parser.add_argument("--also", type=int, action="append", default=[], help="a process that is part of the bench")
    arguments = parser.parse_args()
    if arguments.rounds < ROUNDS_MIN:
        parser.error(f"--rounds is {arguments.rounds}; it has to be {ROUNDS_MIN} at least")

    rounds, others, seconds = [], 0.0, 0.0
    for number in range(arguments.rounds):
        before, begin = processes(), time.monotonic()
        rounds.append(run_round(arguments.name, number))
        seconds += time.monotonic() - begin
        others += seconds_of_others(before, processes(), {os.getpid(), *arguments.also})
        print(f"round {number + 1} of {arguments.rounds}: {json.dumps(rounds[-1])}", file=sys.stderr)

    print("\n".join(table(rounds)))
    result = medians(rounds) | {"rounds": len(rounds), "commit": commit()}
    path = BENCH / "results" / f"{arguments.name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written to {path.relative_to(BENCH.parent)}")
    share = others / seconds
    if share > OTHERS_SHARE_MAX:
        print(f"DISTURBED: other processes used {share:.0%} of a core meanwhile: the figures say little")
        sys.exit(EXIT_DISTURBED)


if __name__ == "__main__":
    main()
