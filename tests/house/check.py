#!/usr/bin/env python3
"""Runs one of the house's rules over this tree: check.py RULE. Exits 1 and lists what breaks it."""

import os
import subprocess
import sys
from pathlib import Path

import rules

ROOT = Path(os.environ["FTL_SOURCE_DIR"])
BUILD = Path(os.environ["FTL_BINARY_DIR"])
BINARIES = ["ftl-ingest", "ftl-deliver", "ftl-serve"]


def helps():
    return {
        binary: subprocess.run([BUILD / "bin" / binary, "--help"], capture_output=True, text=True, check=True).stdout
        for binary in BINARIES
    }


RULES = {
    "floors": lambda: rules.floors(ROOT),
    "foreign_headers": lambda: rules.foreign_headers(ROOT),
    "file_length": lambda: rules.file_length(ROOT),
    "room_pages": lambda: rules.room_pages(ROOT),
    "words": lambda: rules.words(ROOT),
    "additive_migrations": lambda: rules.additive_migrations(ROOT),
    "test_names": lambda: rules.test_names(rules.ctest_tests(BUILD)),
    "promises": lambda: rules.promises((ROOT / "docs/promises.md").read_text(), rules.ctest_tests(BUILD)),
    "documented_settings": lambda: rules.documented_settings(helps(), (ROOT / "docs/configuration.md").read_text()),
}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in RULES:
        sys.exit(f"usage: check.py {'|'.join(RULES)}")
    broken = list(RULES[sys.argv[1]]())
    for line in broken:
        print(line)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
