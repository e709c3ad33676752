#!/usr/bin/python3
"""Recounts a finished run from the data that was played, and compares.

Reads the data file, the client's files and the receiver's log below DIR/receivers, and Postgres. Writes the summary and
exits 0 when everything agrees; prints each difference and exits 1 when anything does not. It shares no code with the
product, so the two cannot be wrong in the same way.

  tests/checker/check.py --data worldcup-2026.json --dir DIR --postgres URI --out DIR/summary.json
"""

import argparse
import json
import os
import sys

import compare
import places
from product import Product
from receiver import Receiver
from recount import Recount


def summarise(options, differences):
    recount = Recount(options.data)
    product = Product(options.postgres, options.event)
    receivers = os.path.join(options.dir, "receivers")
    receiver = Receiver(os.path.join(receivers, options.receiver), os.path.join(receivers, options.receiver + ".jsonl"))
    summary = {}
    summary["fixtures"], summary["events"], summary["goals"] = compare.check_record(recount, product, differences)
    summary["ledger_entries"], summary["totals_equal"] = compare.check_ledger(recount, product, differences)
    summary["files"], summary["stale_files"] = compare.check_files(recount, product, receiver, differences)
    summary["versions"], summary["sends"] = compare.check_versions(product, options.destination, differences)
    summary["owed"] = product.owed()
    if summary["owed"] or product.unbuilt():
        differences.append("%d files are owed, %d wait for a build" % (summary["owed"], product.unbuilt()))
    summary["audited"] = product.audited()
    if product.missing_touches():
        differences.append("the audit found files that changed without a touch: %s" % product.missing_touches())
    summary["unproven"] = compare.check_proofs(product, receiver, options.destination, options.after_kills, differences)
    summary["table_errors"] = (compare.check_calendar(recount, product, receiver, differences)
                               + compare.check_scorers(recount, product, receiver, differences)
                               + compare.check_standings(recount, product, receiver, differences))
    compare.check_timelines(recount, product, receiver, differences)
    stale, are_totals_equal, figures = places.check_all(product, receivers, options.redis, options.after_kills, differences)
    summary["stale_files"] += stale
    summary["totals_equal"] = summary["totals_equal"] and are_totals_equal
    summary.update(figures)
    summary["change_to_file_ms"] = compare.change_to_file(product, receiver, options.destination)
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the file that ftl-sim played")
    parser.add_argument("--dir", required=True, help="the folder of the run: DIR/receivers/NAME and NAME.jsonl are read")
    parser.add_argument("--postgres", required=True, help="libpq URI of the database")
    parser.add_argument("--out", help="where the summary goes (default: standard output)")
    parser.add_argument("--redis", nargs=2, metavar="HOST:PORT[/NUMBER]",
                        help="our Redis and the client's; what they hold is written down beside the receivers' logs")
    parser.add_argument("--event", help="code of the event (default: the only one)")
    parser.add_argument("--receiver", default="directory", help="NAME of the receiver (default: directory)")
    parser.add_argument("--destination", default="directory", help="its destination's name (default: directory)")
    parser.add_argument("--after-kills", action="store_true",
                        help="programs were killed: a version may have been sent once more")
    options = parser.parse_args()
    differences = []
    try:
        summary = summarise(options, differences)
    except (OSError, ValueError, KeyError) as error:
        print("check: cannot count: %s" % error, file=sys.stderr)
        return 1
    text = json.dumps(summary, indent=2) + "\n"
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    for difference in differences:
        print("check: " + difference, file=sys.stderr)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
