#!/usr/bin/python3
"""Canaries of the checker: it must pass a sound run and fail on each planted fault.

  planted_faults_test.py play FOLDER          plays a small tournament once through the real programs
  planted_faults_test.py FAULT FOLDER         copies that run, plants FAULT, and runs the checker on the copy
  planted_faults_test.py clean FOLDER         drops what `play` made

FTL_TEST_PG is a superuser's URI of the server."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

from installation import EVENT, Installation, Servers, copy_run, execute, generate, with_database  # noqa: E402

END_SECONDS = 100
# Of the client's folder.
FIRST_PROOF = ("(SELECT min(t.id) FROM delivery_attempt t JOIN delivery_assignment a ON a.id = t.assignment_id "
               "WHERE a.name = 'directory' AND t.outcome = 'delivered')")
CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")


class Run:
    """A copy of the finished run that a fault may damage."""

    def __init__(self, folder, uri):
        self.folder, self.uri = folder, uri

    def sql(self, *statements):
        execute(self.uri, *statements)

    def file(self, name):
        return os.path.join(self.folder, "receivers", "directory", EVENT, name)

    def edit_file(self, name, change):
        """Changes the JSON of a file as a broken product would: in the client's folder and in its own records alike, so
        that nothing but the recount can tell."""
        with open(self.file(name), encoding="utf-8") as file:
            body = json.load(file)
        change(body)
        text = json.dumps(body, ensure_ascii=False).encode()
        with open(self.file(name), "wb") as file:
            file.write(text)
        plant_everywhere(self, name.removesuffix(".json"), text)

    def log_lines(self):
        with open(self.log(), encoding="utf-8") as file:
            return file.readlines()

    def log(self):
        return os.path.join(self.folder, "receivers", "directory.jsonl")

    def write_log(self, lines):
        with open(self.log(), "w", encoding="utf-8") as file:
            file.writelines(lines)


def plant_everywhere(run, feed, body):
    """Makes `body` the newest version of a file in document, history, proof and log."""
    import gzip
    import hashlib
    digest, key = hashlib.sha256(body).hexdigest(), "%s/%s" % (EVENT, feed)
    packed = gzip.compress(body).hex()
    newest = "(SELECT max(seq) FROM feed_document WHERE doc_key = '%s')" % key
    values = "body_gz = '\\x%s', body_hash = '\\x%s'" % (packed, digest)
    run.sql("UPDATE feed_document SET %s WHERE doc_key = '%s'" % (values, key),
            "UPDATE feed_version SET %s WHERE doc_key = '%s' AND seq = %s" % (values, key, newest),
            "UPDATE delivery_attempt SET body_hash = '\\x%s' WHERE doc_key = '%s' AND seq = %s" % (digest, key, newest))
    lines = run.log_lines()
    last = max(place for place, line in enumerate(lines) if json.loads(line)["path"] == key + ".json")
    lines[last] = json.dumps({**json.loads(lines[last]), "sha256": digest}) + "\n"
    run.write_log(lines)
    plant_in_other_places(run, key, body, packed, digest)


def plant_in_other_places(run, key, body, packed, digest):
    def in_redis(rows):
        entry = next(row for row in rows if row["key"].endswith(":" + key))
        entry["fields"].update(gz=packed, sha=digest.encode().hex(), bytes=str(len(body)).encode().hex())

    def in_log(rows):
        last = [row for row in rows if row["path"] == key and row["sha256"]][-1]
        last["sha256"] = digest

    for name in ("redis", "redis-client"):
        edit_lines(run, name, in_redis)
    for name, path in (("webhook", key.replace("/", "~")), ("pull", key + ".json"), ("pull-gzip", key + ".json")):
        edit_lines(run, name, in_log)
        with open(os.path.join(run.folder, "receivers", name, path), "wb") as file:
            file.write(body)


def previous_version(run, feed):
    """(seq, body) of the version before the newest one."""
    import gzip
    import psycopg2
    connection = psycopg2.connect(run.uri)
    with connection.cursor() as cursor:
        cursor.execute("SELECT seq, body_gz FROM feed_version WHERE doc_key = %s ORDER BY epoch DESC, seq DESC OFFSET 1 LIMIT 1",
                       ("%s/%s" % (EVENT, feed),))
        seq, body = cursor.fetchone()
    connection.close()
    return seq, gzip.decompress(bytes(body))


# --- Faults: what is planted, and the figures of the summary that have to show it -----------------------------------------

def sound(_run):
    pass


def ledger_row_deleted(run):
    run.sql("DELETE FROM event_bump_log WHERE id = (SELECT min(id) FROM event_bump_log)")


def ledger_entry_added(run):
    run.sql("INSERT INTO event_bump_log (provider, fixture_id, provider_event_id, instrument_id, role, entry, micro, "
            "instrument_seq) SELECT provider, fixture_id, provider_event_id, instrument_id, role, entry + 1, micro, "
            "instrument_seq FROM event_bump_log ORDER BY id LIMIT 1")


def total_changed(run):
    run.sql("UPDATE instrument_bump SET total = total + 1 WHERE instrument_id = (SELECT min(instrument_id) FROM instrument_bump)")


def event_lost(run):
    run.sql("DELETE FROM event_bump_log WHERE provider_event_id = (SELECT min(provider_event_id) FROM event_bump_log)",
            "DELETE FROM match_events e WHERE type_id IN (14, 15, 16) AND NOT EXISTS (SELECT FROM event_bump_log l "
            "WHERE l.fixture_id = e.fixture_id AND l.provider_event_id = e.provider_event_id) "
            "AND NOT EXISTS (SELECT FROM match_event_revision r WHERE r.match_event_id = e.id)")


def file_altered(run):
    with open(run.file("standings.json"), "ab") as file:
        file.write(b" ")


def file_deleted(run):
    os.remove(run.file("scorers.json"))


def file_too_many(run):
    shutil.copy(run.file("scorers.json"), run.file("scorers-old.json"))


def version_skipped(run):
    """The client still has the version before the newest one, and nobody claims anything else."""
    key = "%s/standings" % EVENT
    seq, body = previous_version(run, "standings")
    with open(run.file("standings.json"), "wb") as file:
        file.write(body)
    newest = "(SELECT max(seq) FROM feed_document WHERE doc_key = '%s')" % key
    mine = "doc_key = '%s' AND assignment_id = (SELECT id FROM delivery_assignment WHERE name = 'directory')" % key
    run.sql("DELETE FROM delivery_attempt WHERE %s AND seq = %s" % (mine, newest),
            "UPDATE delivery_state SET sent_seq = %d WHERE %s" % (seq, mine))
    lines = run.log_lines()
    last = max(place for place, line in enumerate(lines) if json.loads(line)["path"] == key + ".json")
    run.write_log(lines[:last] + lines[last + 1:])


def history_row_lost(run):
    run.sql("DELETE FROM feed_version v USING delivery_attempt t WHERE t.doc_key = v.doc_key AND t.seq = v.seq "
            "AND t.id = %s" % FIRST_PROOF)


def proof_removed(run):
    run.sql("DELETE FROM delivery_attempt WHERE id = %s" % FIRST_PROOF)


def rename_without_proof(run):
    lines = run.log_lines()
    run.write_log(lines + [lines[0]])


def standings_row_wrong(run):
    def change(body):
        body["groups"][0]["rows"][0]["points"] += 1
    run.edit_file("standings.json", change)


def standings_rows_swapped(run):
    def change(body):
        rows = body["groups"][0]["rows"]
        rows[0], rows[1] = rows[1], rows[0]
    run.edit_file("standings.json", change)


def scorer_missing(run):
    run.edit_file("scorers.json", lambda body: body["scorers"].pop())


def result_wrong(run):
    def change(body):
        body["fixtures"][0]["score"]["home"] += 1
    run.edit_file("calendar.json", change)


def timeline_event_missing(run):
    names = sorted(os.listdir(run.file("timeline")))
    run.edit_file("timeline/" + names[0], lambda body: body["events"].pop())


def edit_lines(run, name, change):
    """Rewrites DIR/receivers/NAME.jsonl: `change` gets all its objects."""
    path = os.path.join(run.folder, "receivers", name + ".jsonl")
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    change(rows)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def old_total_in_redis(run):
    def change(rows):
        total = next(row for row in rows if row["key"].startswith("bump:") and "fields" in row
                     and not row["fields"]["v"].endswith("30" * 20))
        total["fields"]["t"] = b"1".hex()
    edit_lines(run, "redis", change)


def old_file_in_redis(run):
    def change(rows):
        file = next(row for row in rows if row["key"].endswith("/standings"))
        file["fields"]["gz"] = next(row for row in rows if row["key"].endswith("/scorers"))["fields"]["gz"]
    edit_lines(run, "redis-client", change)


def broken_signature(run):
    def change(rows):
        rows[-1]["signed"] = False
    edit_lines(run, "webhook", change)


def webhook_ends_with_older(run):
    edit_lines(run, "webhook", lambda rows: rows.remove([row for row in rows if row["path"] == EVENT + "/standings"][-1]))


def wrong_etag(run):
    def change(rows):
        last = [row for row in rows if row["status"] == 200][-1]
        last["etag"] = last["etag"].replace("-", "", 1)
    edit_lines(run, "pull-gzip", change)


def pull_goes_back(run):
    def change(rows):
        mine = [row for row in rows if row["path"] == EVENT + "/standings" and row["status"] == 200]
        rows.append({**mine[0], "time": rows[-1]["time"]})
    edit_lines(run, "pull", change)


# The figure of the summary, its sound value and the one that has to come out; None: the difference alone.
FAULTS = {
    "sound": (sound, None),
    "ledger-row-deleted": (ledger_row_deleted, lambda summary, before: summary["ledger_entries"] == before["ledger_entries"] - 1),
    "ledger-entry-added": (ledger_entry_added, lambda summary, before: summary["ledger_entries"] == before["ledger_entries"] + 1),
    "total-changed": (total_changed, lambda summary, before: before["totals_equal"] and not summary["totals_equal"]),
    "event-lost": (event_lost, lambda summary, before: summary["goals"] < before["goals"]),
    "file-altered": (file_altered, lambda summary, _: summary["stale_files"] == 1),
    "file-deleted": (file_deleted, lambda summary, _: summary["stale_files"] == 1),
    "file-too-many": (file_too_many, lambda summary, _: summary["stale_files"] == 0),
    "version-skipped": (version_skipped, lambda summary, _: summary["owed"] == 1 and summary["stale_files"] == 1),
    "history-row-lost": (history_row_lost, lambda summary, before: summary["versions"] == before["versions"] - 1),
    "proof-removed": (proof_removed, lambda summary, _: summary["unproven"] == 1),
    "rename-without-proof": (rename_without_proof, lambda summary, _: summary["unproven"] >= 1),
    "standings-row-wrong": (standings_row_wrong, lambda summary, _: summary["table_errors"] == 1 and summary["stale_files"] == 0),
    "standings-rows-swapped": (standings_rows_swapped, lambda summary, _: summary["table_errors"] == 2),
    "scorer-missing": (scorer_missing, lambda summary, _: summary["table_errors"] == 1 and summary["stale_files"] == 0),
    "result-wrong": (result_wrong, lambda summary, _: summary["table_errors"] == 1),
    "old-total-in-redis": (old_total_in_redis, lambda summary, _: not summary["totals_equal"]),
    "old-file-in-redis": (old_file_in_redis, lambda summary, _: summary["stale_files"] == 1),
    "broken-signature": (broken_signature, lambda summary, _: summary["webhook_bad_signatures"] == 1),
    "webhook-ends-with-older": (webhook_ends_with_older, lambda summary, _: summary["stale_files"] == 1),
    "wrong-etag": (wrong_etag, lambda summary, _: summary["stale_files"] >= 1),
    "pull-goes-back": (pull_goes_back, lambda summary, _: summary["stale_files"] >= 1),
    "timeline-event-missing": (timeline_event_missing, lambda summary, _: summary["stale_files"] == 0),
}


# --- Running ------------------------------------------------------------------------------------------------------------

def database_of(folder):
    # The server may be shared by several build folders.
    return "checker_%s" % format(abs(hash_of(os.path.abspath(folder))), "x")


def hash_of(text):
    import zlib
    return zlib.crc32(text.encode())


def check(data, folder, uri, redis=None):
    """Returns (exit code, summary, what was printed). Without `redis` what the check of the run has written down counts."""
    out = os.path.join(folder, "summary.json")
    result = subprocess.run(["/usr/bin/python3", CHECK, "--data", data, "--dir", folder, "--postgres", uri, "--out", out,
                             *(["--redis", *redis] if redis else [])],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    summary = {}
    if os.path.exists(out):
        with open(out, encoding="utf-8") as file:
            summary = json.load(file)
    return result.returncode, summary, result.stdout


def play(folder, server):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    data = generate(os.path.join(folder, "tournament.json"), "--teams", "8", "--seed", "7")
    # A Redis of its own; the databases are on the server of all tests, where the copies are made.
    os.chmod(folder, 0o755)
    servers = Servers(os.path.join(folder, "servers"))
    try:
        with Installation(os.path.join(folder, "run"), server, database_of(folder), data, redis=servers.redis) as installation:
            installation.start_simulator()
            installation.start("ftl-deliver")
            installation.start("ftl-ingest")
            installation.wait_until_end(END_SECONDS)
            installation.stop_all()
            code, summary, output = check(data, installation.folder, installation.uri,
                                          [servers.redis, installation.client_redis])
    finally:
        servers.stop()
    print(json.dumps(summary), output)
    assert code == 0, "the checker fails on a sound run"


def plant(name, folder, server):
    fault, shows = FAULTS[name]
    data = os.path.join(folder, "tournament.json")
    database = "%s_%s" % (database_of(folder), name.replace("-", "_"))
    with open(os.path.join(folder, "run", "summary.json"), encoding="utf-8") as file:
        before = json.load(file)
    copy = tempfile.mkdtemp(prefix="ftl-checker-")
    try:
        execute(server, "DROP DATABASE IF EXISTS %s WITH (FORCE)" % database,
                "CREATE DATABASE %s TEMPLATE %s" % (database, database_of(folder)))
        run = Run(copy_run(os.path.join(folder, "run"), copy), with_database(server, database))
        fault(run)
        code, summary, output = check(data, run.folder, run.uri)
        print(output)
        if shows is None:
            assert code == 0 and summary == before, "the copy of a sound run is not sound: %s" % summary
            return
        assert code == 1, "the checker does not see it: exit code %d" % code
        assert "check: " in output, "it does not say what differs"
        assert shows(summary, before), "the summary does not show it: %s" % summary
    finally:
        execute(server, "DROP DATABASE IF EXISTS %s WITH (FORCE)" % database)
        shutil.rmtree(copy)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in (*FAULTS, "play", "clean"):
        print(__doc__ + "\nFaults: " + " ".join(FAULTS), file=sys.stderr)
        return 2
    what, folder = sys.argv[1:]
    server = os.environ["FTL_TEST_PG"]
    try:
        if what == "play":
            play(folder, server)
        elif what == "clean":
            execute(server, "DROP DATABASE IF EXISTS %s WITH (FORCE)" % database_of(folder))
            shutil.rmtree(folder, ignore_errors=True)
        else:
            plant(what, folder, server)
    except AssertionError as error:
        print("FAILED: %s" % error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
