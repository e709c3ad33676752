#!/usr/bin/python3
"""Watches the quickstart: shows a live picture, or waits until everything has been played and has arrived.

  watch.py picture   --postgres URI --provider URL [--process NAME=PID]…
  watch.py until-end --postgres URI --provider URL [--process NAME=PID]…

until-end ends with 0 when the provider is at its end, every fixture that it played is over here too, the outbox is read,
nothing waits for a build and nothing is owed, all seen twice one second apart. It ends with 1, saying what is missing,
after five minutes without progress or when one of the processes has ended."""

import argparse
import hashlib
import json
import os
import sys
import time
import urllib.request

import psycopg2

STUCK_SECONDS = 300
LOOK_SECONDS = 1.0

COUNTS = """
SELECT (SELECT count(*) FROM fixture) AS fixtures,
       (SELECT count(*) FROM fixture WHERE is_terminal) AS over,
       (SELECT count(*) FROM fixture WHERE has_started AND NOT is_terminal) AS in_play,
       (SELECT count(*) FROM match_event_current) AS events,
       (SELECT count(*) FROM event_bump_log) AS bumps,
       (SELECT count(*) FROM feed_document) AS files,
       (SELECT count(*) FROM feed_version) AS versions,
       (SELECT count(*) FROM feed_dirty) AS dirty,
       (SELECT count(*) FROM outbox o, outbox_cursor c
         WHERE c.consumer = 'build'
           AND (NOT pg_visible_in_snapshot(o.txid, c.snap) OR c.upto IS NOT NULL)) AS unread,
       (SELECT count(*) FROM delivery_attempt WHERE outcome = 'delivered') AS sends,
       (SELECT count(*) FROM delivery_attempt) AS attempts,
       (SELECT count(*) FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id
          JOIN feed_document d ON (a.events IS NULL OR d.event = ANY (a.events))
                              AND (a.feed_types IS NULL OR d.feed_type = ANY (a.feed_types))
          LEFT JOIN delivery_state s ON s.assignment_id = a.id AND s.doc_key = d.doc_key
         WHERE a.is_on AND c.is_on
           AND (coalesce(s.sent_epoch, 0), coalesce(s.sent_seq, 0), coalesce(s.sent_render, 0))
               < (d.epoch, d.seq, a.render)) AS owed,
       (SELECT count(*) FROM alert WHERE cleared_at IS NULL) AS alerts"""

LIVE = """
SELECT f.state, coalesce(f.group_name, f.round_name, ''), h.name, a.name, coalesce(f.home_score, 0),
       coalesce(f.away_score, 0),
       (SELECT coalesce(m.minute || coalesce('+' || m.extra_minute, '') || '. ' || m.type || ' ' || m.player_name, '')
          FROM match_event_current m WHERE m.fixture_id = f.id
         ORDER BY m.minute DESC NULLS LAST, coalesce(m.extra_minute, 0) DESC, m.provider_event_id DESC LIMIT 1)
FROM fixture f LEFT JOIN participant h ON h.id = f.home_id LEFT JOIN participant a ON a.id = f.away_id
WHERE f.has_started ORDER BY f.is_terminal, f.kickoff DESC, f.provider_id LIMIT 8"""

FILES = """
SELECT d.doc_key, d.epoch || ':' || d.seq, d.body_bytes, extract(epoch FROM clock_timestamp() - d.changed_at)::float8,
       s.age_ms
FROM feed_document d LEFT JOIN delivery_state s ON s.doc_key = d.doc_key ORDER BY d.changed_at DESC, d.doc_key LIMIT 8"""

DESTINATIONS = """
SELECT c.code || '/' || a.name, coalesce(a.folder, a.host), a.is_on AND c.is_on, a.failures, coalesce(a.last_error, '')
FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id ORDER BY 1"""


class Watcher:
    def __init__(self, options):
        self.options = options
        self.connection = None

    def rows(self, sql):
        """The rows as tuples. Connects again when the last connection broke."""
        if self.connection is None or self.connection.closed:
            self.connection = psycopg2.connect(self.options.postgres, connect_timeout=5)
            self.connection.set_session(autocommit=True, readonly=True)
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
                return cursor.fetchall()
        except psycopg2.Error:
            self.connection.close()
            raise

    def counts(self):
        """The figures of COUNTS by their names."""
        return json.loads(self.rows("SELECT row_to_json(c)::text FROM (%s) c" % COUNTS)[0][0])

    def provider(self):
        with urllib.request.urlopen(self.options.provider + "/sim/status", timeout=5) as answer:
            return json.load(answer)

    def ended_process(self):
        """The name of a process that has ended, or None."""
        for text in self.options.process:
            name, _, pid = text.partition("=")
            try:
                with open("/proc/%s/stat" % pid, encoding="utf-8") as file:
                    if ") Z " not in file.read():
                        continue
            except OSError:
                pass
            return name
        return None

    def not_pulled(self):
        """Writes down which files there are, for the pulling clients, and says which of these lack the newest version."""
        if not getattr(self.options, "pull_list", None):
            return []
        documents = self.rows("SELECT doc_key, encode(body_hash, 'hex') FROM feed_document WHERE retired_at IS NULL ORDER BY 1")
        with open(self.options.pull_list + ".new", "w", encoding="utf-8") as file:
            file.writelines(key + "\n" for key, _ in documents)
        os.replace(self.options.pull_list + ".new", self.options.pull_list)
        missing = []
        for folder in self.options.pulled:
            behind = sum(1 for key, digest in documents if digest_of(os.path.join(folder, key + ".json")) != digest)
            if behind:
                missing.append("%d files in %s are not the newest" % (behind, folder))
        return missing

    def missing(self):
        """What keeps the run from being at its end, as a list of sentences; and the figures that show progress."""
        counts, status = self.counts(), self.provider()
        missing = []
        if not status["at_end"]:
            missing.append("the provider is at %s, instant %s of its game" % (status["clock"], status["instants"]))
        if counts["over"] != status["terminal"] or counts["fixtures"] != status["fixtures"]:
            missing.append("%d of %d fixtures are over here, %d of %d at the provider"
                           % (counts["over"], counts["fixtures"], status["terminal"], status["fixtures"]))
        for name, sentence in (("unread", "%d rows of the outbox are not read"), ("dirty", "%d files wait for a build"),
                               ("owed", "%d files are owed")):
            if counts[name]:
                missing.append(sentence % counts[name])
        missing += self.not_pulled()
        # Polls alone are no progress: a provider is asked again and again while everything else stands still.
        progress = tuple(value for name, value in sorted(counts.items()) if name != "alerts")
        return missing, (*progress, status["clock"], status["terminal"])


def digest_of(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return None


def until_end(watcher):
    last_progress, moved_at, times_done = None, time.monotonic(), 0
    missing = ["nothing could be read yet"]
    while True:
        try:
            missing, progress = watcher.missing()
            if progress != last_progress:
                last_progress, moved_at = progress, time.monotonic()
        except (psycopg2.Error, OSError, ValueError) as error:
            missing = ["cannot look: %s" % str(error).strip()]
        times_done = 0 if missing else times_done + 1
        if times_done == 2:
            return 0
        name = watcher.ended_process()
        if name:
            print("watch: %s has ended; what is missing:\n  %s" % (name, "\n  ".join(missing)), file=sys.stderr)
            return 1
        if time.monotonic() - moved_at > STUCK_SECONDS:
            print("watch: no progress for %d minutes; what is missing:\n  %s"
                  % (STUCK_SECONDS // 60, "\n  ".join(missing)), file=sys.stderr)
            return 1
        time.sleep(LOOK_SECONDS)


def picture_of(watcher):
    counts, status = watcher.counts(), watcher.provider()
    lines = ["provider %s%s   polls %s   fixtures %d, in play %d, over %d   events %d   bumps %d"
             % (status["clock"], " (at its end)" if status["at_end"] else "", status["polls"], counts["fixtures"],
                counts["in_play"], counts["over"], counts["events"], counts["bumps"]), ""]
    for state, group, home, away, home_score, away_score, newest in watcher.rows(LIVE):
        lines.append("%-12s %-14s %20s %d:%d %-20s %s"
                     % (state[:12], group[:14], (home or "?")[:20], home_score, away_score, (away or "?")[:20],
                        newest or ""))
    lines += ["", "files %d   versions %d   waiting for a build %d   outbox unread %d"
              % (counts["files"], counts["versions"], counts["dirty"], counts["unread"])]
    for key, version, size, age, to_file in watcher.rows(FILES):
        lines.append("%-32s %-22s %8d bytes   changed %6.0f s ago   at the client after %s"
                     % (key, version, size, age, "-" if to_file is None else "%d ms" % to_file))
    lines.append("")
    for name, place, is_on, failures, error in watcher.rows(DESTINATIONS):
        lines.append("destination %s: %s, sends %d, owed %d%s   %s"
                     % (name, "on" if is_on else "OFF", counts["sends"], counts["owed"],
                        ", %d failures: %s" % (failures, error) if failures else "", place))
    if counts["alerts"]:
        lines.append("%d alerts are open: ftlctl alert list" % counts["alerts"])
    return lines + ["", "Ctrl-C ends it."]


def picture(watcher):
    while True:
        try:
            watcher.not_pulled()
            lines = picture_of(watcher)
        except (psycopg2.Error, OSError, ValueError) as error:
            lines = ["cannot look: %s" % str(error).strip()]
        name = watcher.ended_process()
        if name:
            print("watch: %s has ended; its log tells why" % name, file=sys.stderr)
            return 1
        # On a terminal the screen is written over; into a file or pipe one picture follows the other.
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[H\x1b[2J")
        print("\n".join(lines), flush=True)
        time.sleep(LOOK_SECONDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("picture", "until-end"))
    parser.add_argument("--postgres", required=True)
    parser.add_argument("--provider", required=True)
    parser.add_argument("--pull-list", metavar="FILE", help="where the names of all files are written for pulling clients")
    parser.add_argument("--pulled", action="append", default=[], metavar="FOLDER", help="what such a client keeps")
    parser.add_argument("--process", action="append", default=[], metavar="NAME=PID")
    options = parser.parse_args()
    try:
        return {"picture": picture, "until-end": until_end}[options.mode](Watcher(options))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
