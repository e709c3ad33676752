"""What a client got: the files in its folder and the log of the program that watched the folder."""

import datetime
import hashlib
import json
import os


class Receiver:
    def __init__(self, folder, log):
        self.folder = folder
        self.renames = {}  # {path: [(time, sha256), …]} in the order of the log
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if "event" in row:  # A deletion, or a rescan.
                    continue
                self.renames.setdefault(row["path"], []).append((moment_of(row["time"]), row["sha256"]))

    def paths(self):
        found = []
        for where, _, names in os.walk(self.folder):
            found += [os.path.relpath(os.path.join(where, name), self.folder) for name in names]
        return sorted(found)

    def read(self, path):
        """The bytes, or None when the file is not there."""
        try:
            with open(os.path.join(self.folder, path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def read_json(self, path):
        """The content, or None when the file is not there or is not JSON."""
        body = self.read(path)
        try:
            return None if body is None else json.loads(body)
        except ValueError:
            return None


def sha256(body):
    return hashlib.sha256(body).hexdigest()


def moment_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
