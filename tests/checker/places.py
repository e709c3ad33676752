"""The same file in every place: our Redis, a client's Redis, a webhook, and what a client pulled. Every function appends what differs
to `differences`."""

import gzip
import json
import os

from receiver import sha256

OWN_PREFIX = "feed:d:"
CLIENT_PREFIX = "demo:"


def dump_redis(address, path):
    """Writes the hashes and texts of one database, HOST:PORT[/NUMBER], into a file, a line each: what its readers see now."""
    import redis
    place, _, database = address.partition("/")
    host, _, port = place.rpartition(":")
    client = redis.Redis(host=host, port=int(port), db=int(database or 0))
    with open(path, "w", encoding="utf-8") as out:
        for key in sorted(client.scan_iter(count=1000)):
            kind = client.type(key)
            row = {"key": key.decode()}
            if kind == b"hash":
                row["fields"] = {name.decode(): value.hex() for name, value in client.hgetall(key).items()}
            elif kind == b"string":
                row["text"] = client.get(key).decode()
            out.write(json.dumps(row) + "\n")


def read_dump(path):
    """{key: {field: bytes} or text}"""
    entries = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            entries[row["key"]] = ({name: bytes.fromhex(value) for name, value in row["fields"].items()}
                                   if "fields" in row else row.get("text"))
    return entries


def version_text(epoch, seq, render):
    return b"%010d:%020d:%010d" % (epoch, seq, render)


def check_documents(product, entries, prefix, render, what, differences):
    """Each document lies there in its newest version, and nothing else does. Returns how many do not."""
    wrong = []
    documents = product.documents()
    for key, (epoch, seq, digest, _, is_retired) in sorted(documents.items()):
        fields = entries.get(prefix + key)
        if not isinstance(fields, dict):
            wrong.append("%s: %s is missing" % (what, key))
            continue
        if fields.get("v") != version_text(epoch, seq, render):
            wrong.append("%s: %s has version %s, the newest is %s:%s" % (what, key, fields.get("v"), epoch, seq))
        elif is_retired:
            if fields.get("gone") != b"1":
                wrong.append("%s: %s is retired and not marked as gone" % (what, key))
        elif sha256(gzip.decompress(fields.get("gz", b""))) != digest or fields.get("sha") != digest.encode():
            wrong.append("%s: %s has other bytes than its version" % (what, key))
        elif fields.get("etag") != b'"%d-%d-%d"' % (epoch, seq, render):
            wrong.append("%s: %s has the ETag %s" % (what, key, fields.get("etag")))
    lawful = {prefix + key for key in documents}
    wrong += ["%s: there is a file %s that no document has" % (what, key)
              for key in entries if key.startswith(prefix) and key not in lawful]
    differences += wrong
    return len(wrong)


def check_totals(product, entries, differences):
    """Each instrument's total and its version, and the mark that all are there. Returns whether all are right."""
    before = len(differences)
    epoch, totals = product.cached_totals()
    if entries.get("bump:ready") != "%010d" % epoch:
        differences.append("redis: bump:ready is %r, the epoch is %d" % (entries.get("bump:ready"), epoch))
    for instrument, total_epoch, seq, total in totals:
        fields = entries.get("bump:%d" % instrument)
        if fields != {"v": version_text(total_epoch, seq, 0), "t": str(total).encode()}:
            differences.append("redis: the total of instrument %d is %s; it is %d, seq %d" % (instrument, fields, total, seq))
    return len(differences) == before


class Pulled:
    """What a pulling client got: its folder and its log."""

    def __init__(self, folder, log):
        self.folder = folder
        self.lines = []
        with open(log, encoding="utf-8") as lines:
            self.lines = [json.loads(line) for line in lines]

    def count(self, status):
        return sum(1 for line in self.lines if line["status"] == status)

    def check(self, product, render, what, has_kills, differences):
        """Every file is the newest version, and the log neither goes back nor ends with an older one. Returns how many
        files are not."""
        wrong = []
        newest = {}
        for line in self.lines:
            if line["status"] == 200:
                version = tuple(int(part) for part in line["ftl_version"].split("-"))
                if version < newest.get(line["path"], (version, ""))[0]:
                    wrong.append("%s: %s went back to version %s" % (what, line["path"], line["ftl_version"]))
                newest[line["path"]] = (version, line["sha256"])
                suffix = "-gzip" if line.get("coding") == "gzip" else ""
                if line["etag"] != '"%s%s"' % (line["ftl_version"], suffix):
                    wrong.append("%s: %s came with the ETag %s" % (what, line["path"], line["etag"]))
            elif line["status"] not in (304, 404) and not (has_kills and line["status"] in (None, 503)):
                wrong.append("%s: %s was answered with %s (%s)" % (what, line["path"], line["status"], line.get("error")))
        for key, (epoch, seq, digest, _, is_retired) in sorted(product.documents().items()):
            if is_retired:
                continue
            if newest.get(key) != ((epoch, seq, render), digest):
                wrong.append("%s: the log of %s ends with %s, the newest is %d-%d-%d" % (what, key, newest.get(key), epoch, seq, render))
            path = os.path.join(self.folder, key + ".json")
            if not os.path.exists(path) or sha256(open(path, "rb").read()) != digest:
                wrong.append("%s: %s is not the newest version" % (what, key))
        differences += wrong
        return len(wrong)


class Webhook:
    """What a webhook got: the last body of each file and the log."""

    def __init__(self, folder, log):
        self.folder = folder
        with open(log, encoding="utf-8") as lines:
            self.lines = [json.loads(line) for line in lines]

    def bad_signatures(self):
        return sum(1 for line in self.lines if not line["signed"])

    def check(self, product, render, differences):
        """Every file's last accepted version is the newest, with its bytes, and every id names what came. Returns how
        many files are not."""
        wrong = []
        newest = {}
        for line in self.lines:
            if line.get("event") == "test" or not 200 <= (line["status"] or 0) < 300:
                continue
            file = line["path"].replace("/", "~")
            version = tuple(int(part) for part in line["ftl_version"].split(":"))
            assignment, named, *numbers = line["webhook_id"].replace("-" + file + "-", " " + file + " ").split()
            if named != file or tuple(int(part) for part in numbers[0].split("-")[:3]) != version or not assignment.isdigit():
                wrong.append("webhook: %s came under the id %s" % (line["path"], line["webhook_id"]))
            if version >= newest.get(line["path"], (version, ""))[0]:
                newest[line["path"]] = (version, line["sha256"])
        for key, (epoch, seq, digest, _, is_retired) in sorted(product.documents().items()):
            if is_retired:
                continue
            if newest.get(key) != ((epoch, seq, render), digest):
                wrong.append("webhook: the log of %s ends with %s, the newest is %d:%d:%d" % (key, newest.get(key), epoch, seq, render))
            path = os.path.join(self.folder, key.replace("/", "~"))
            if not os.path.exists(path) or sha256(open(path, "rb").read()) != digest:
                wrong.append("webhook: the last body of %s is not the newest version" % key)
        differences += wrong
        return len(wrong)


def check_all(product, receivers, redis, has_kills, differences):
    """Every place that this run has. `redis` holds the addresses of ours and of the client's, which are written down
    first; without them what an earlier check of the run has written counts. Returns (files that are not the newest, whether the cached totals are right, figures)."""
    stale, are_totals_equal, figures = 0, True, {}
    renders = product.renders()
    for place, (name, transport, prefix) in enumerate((("redis", "cache", OWN_PREFIX), ("redis-client", "redis", CLIENT_PREFIX))):
        if transport not in renders:
            continue
        path = os.path.join(receivers, name + ".jsonl")
        if redis:
            dump_redis(redis[place], path)
        entries = read_dump(path)
        stale += check_documents(product, entries, prefix, renders[transport], name, differences)
        if transport == "cache":
            are_totals_equal = check_totals(product, entries, differences)
    if "webhook" in renders:
        webhook = Webhook(os.path.join(receivers, "webhook"), os.path.join(receivers, "webhook.jsonl"))
        bad = figures["webhook_bad_signatures"] = webhook.bad_signatures()
        if bad:
            differences.append("webhook: %d requests were not signed as they should be" % bad)
        stale += webhook.check(product, renders["webhook"], differences)
    for name in ("pull", "pull-gzip"):
        log = os.path.join(receivers, name + ".jsonl")
        if os.path.exists(log):
            client = Pulled(os.path.join(receivers, name), log)
            stale += client.check(product, renders["cache"], name, has_kills, differences)
            figures["pull_200"] = figures.get("pull_200", 0) + client.count(200)
            figures["pull_304"] = figures.get("pull_304", 0) + client.count(304)
    return stale, are_totals_equal, figures
