"""A whole installation for tests written in Python: a database, an event, a client with a folder, and the real programs.
The tests decide when programs start, die and start again."""

import base64
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time

import psycopg2

SOURCE = os.environ.get("FTL_SOURCE_DIR") or os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "examples", "quickstart"))

import watch  # noqa: E402  (the quickstart's idea of "everything has arrived")

EVENT = "cup"
SEASON = "1"
TOKEN = "test-token"
START_SECONDS = 30
STOP_SECONDS = 30
PULLING = ("pull", "pull-gzip")

# The quickstart's rules. An own goal has no scorer.
RULES = [("goal", "scorer", "50000"), ("penalty", "scorer", "50000"), ("own_goal", "own_goal", "-20000")] + [
    (kind, role, micro) for kind in ("goal", "penalty", "own_goal")
    for role, micro in (("team", "20000"), ("opponent", "-10000"))]

# Short enough that a program which was killed is replaced within a second.
QUICK = {
    "ftl-ingest": ["--ingest.lease_ttl_ms", "600", "--ingest.lease_renew_ms", "150", "--ingest.lease_watch_ms", "100",
                   "--ingest.by_id_first_ms", "50", "--ingest.by_id_max_ms", "500", "--ingest.failure_first_ms", "50",
                   "--ingest.failure_max_ms", "500"],
    "ftl-deliver": ["--deliver.lease_ttl_ms", "1000", "--deliver.lease_margin_ms", "200",
                    "--deliver.look_interval_ms", "100", "--build.audit_interval_ms", "1000", "--build.audit_pause_ms", "20",
                    "--cache.totals_interval_ms", "200", "--cache.documents_interval_ms", "1000"],
}


def binaries():
    return os.environ.get("FTL_BIN") or os.path.join(os.environ["FTL_BINARY_DIR"], "bin")


def with_database(uri, name):
    return uri.rsplit("/", 1)[0] + "/" + name


def free_port():
    """One below the kernel's range for outgoing connections, so that it is still free when its server starts again."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return str(port)
            except OSError:
                continue
    raise AssertionError("no free port")


def execute(uri, *statements):
    connection = psycopg2.connect(uri)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    finally:
        connection.close()


class Servers:
    """Servers of our own below a folder, for tests that stop them."""

    def __init__(self, folder):
        self.folder = folder
        self.call("start", folder)
        with open(os.path.join(folder, "servers.env"), encoding="utf-8") as file:
            self.values = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        self.uri = self.values["FTL_PG_URI"]

    @staticmethod
    def call(*arguments):
        subprocess.run([os.path.join(SOURCE, "tools", "servers.sh"), *arguments], check=True, stdout=subprocess.DEVNULL)

    @property
    def redis(self):
        return "%s:%s" % (self.values["FTL_REDIS_HOST"], self.values["FTL_REDIS_PORT"])

    def redis_cli(self, *words):
        subprocess.run(["redis-cli", "-h", self.values["FTL_REDIS_HOST"], "-p", self.values["FTL_REDIS_PORT"], *words],
                       check=True, stdout=subprocess.DEVNULL)

    def restart_redis(self):
        self.call("restart-redis", self.folder)

    def restart_postgres_immediately(self):
        self.call("restart-postgres", self.folder, "immediate")

    def stop(self):
        self.call("stop", self.folder)


class Installation:
    """`folder` gets what a quickstart's DIR has: receivers/, logs/. Use it as a context: programs end with it. With `redis`
    (HOST:PORT of a server of its own) the files go everywhere: our Redis, a client's, a webhook, two pulling clients."""

    def __init__(self, folder, server_uri, database, data, poll_interval_ms="0", redis=None):
        self.folder, self.data, self.poll_interval_ms, self.redis = folder, data, poll_interval_ms, redis
        self.uri = with_database(server_uri, database)
        self.client_folder = os.path.join(folder, "receivers", "directory")
        self.programs = {}
        self.provider = None
        os.makedirs(self.client_folder)
        os.makedirs(os.path.join(folder, "logs"))
        execute(server_uri, "DROP DATABASE IF EXISTS %s WITH (FORCE)" % database, "CREATE DATABASE %s" % database)
        self.set_up()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in list(self.programs):
            self.kill(name)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def ctl(self, *arguments):
        subprocess.run([os.path.join(binaries(), "ftlctl"), *arguments], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "FTL_POSTGRES_URI": self.uri})

    def set_up(self):
        self.ctl("migrate", "up")
        self.ctl("event", "add", EVENT, "--season", SEASON)
        for kind, role, micro in RULES:
            self.ctl("event", "rule", "set", EVENT, kind, role, micro)
        self.ctl("client", "add", "demo")
        self.ctl("destination", "add", "demo", "directory", "--transport", "directory", "--folder", self.client_folder,
                 "--first-retry-ms", "50", "--slow-retry-ms", "500")
        with open(self.path("token"), "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        if self.redis:
            self.set_up_places()

    def set_up_places(self):
        host, _, port = self.redis.rpartition(":")
        subprocess.run(["redis-cli", "-h", host, "-p", port, "FLUSHALL"], check=True, stdout=subprocess.DEVNULL)
        for name in PULLING + ("webhook",):
            os.makedirs(self.path("receivers", name))
        self.write_secret("master.key", os.urandom(32).hex())
        self.write_secret("webhook.secret", "whsec_" + base64.b64encode(os.urandom(32)).decode())
        self.webhook_port, self.serve_port, client_port = "0", free_port(), free_port()
        self.client_redis = "127.0.0.1:" + client_port
        self.launch("client-redis", shutil.which("redis-server"), "--port", client_port, "--bind", "127.0.0.1", "--save", "",
                    "--dir", self.folder)
        self.start_webhook()
        self.webhook_port = self.wait_for_file("webhook.port").strip()
        quick = ["--first-retry-ms", "50", "--slow-retry-ms", "500"]
        self.ctl("destination", "add", "demo", "redis", "--transport", "redis", "--host", "127.0.0.1",
                 "--port", client_port, "--key-prefix", "demo:", *quick)
        self.ctl("destination", "add", "demo", "webhook", "--transport", "webhook", "--on-retire", "delete",
                 "--url", "http://127.0.0.1:%s/feeds" % self.webhook_port, "--secret-file", self.path("webhook.secret"),
                 "--deliver.master_key_file", self.path("master.key"), *quick)
        self.ctl("client", "entitle", "demo")
        answer = subprocess.run([os.path.join(binaries(), "ftlctl"), "key", "issue", "demo", "--json"], check=True,
                                stdout=subprocess.PIPE, env={**os.environ, "FTL_POSTGRES_URI": self.uri}).stdout
        self.write_secret("pull.key", json.loads(answer)["key"])

    def write_secret(self, name, text):
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(text + "\n")

    # --- Programs ---------------------------------------------------------------------------------------------------

    def launch(self, name, *command, environment=None):
        with open(self.path("logs", name + ".log"), "ab") as log:
            self.programs[name] = subprocess.Popen(
                [os.path.join(binaries(), command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "FTL_POSTGRES_URI": self.uri, **(environment or {})}, start_new_session=True)

    def start_simulator(self, speed="max"):
        """The receiver and the provider: they are never killed."""
        self.launch("receive", "ftl-sim", "receive", "--folder", self.client_folder,
                    "--log", self.client_folder + ".jsonl", "--ready-file", self.path("receive.ready"))
        self.wait_for_file("receive.ready")
        self.launch("provider", "ftl-sim", "provider", "--data", self.data, "--speed", speed, "--season", SEASON,
                    "--token", TOKEN, "--port-file", self.path("provider.port"))
        self.provider = "http://127.0.0.1:" + self.wait_for_file("provider.port").strip()
        if self.redis:
            self.start("ftl-serve")
            with open(self.path("files"), "w", encoding="utf-8"):
                pass
            for name in PULLING:
                self.launch(name, "ftl-sim", "pull", "--url", "http://127.0.0.1:%s" % self.serve_port, "--key-file",
                            self.path("pull.key"), "--files", "@" + self.path("files"), "--interval", "100", "--log",
                            self.path("receivers", name + ".jsonl"), "--folder", self.path("receivers", name),
                            *(["--gzip"] if name == "pull-gzip" else []))

    def start_webhook(self):
        """The client's webhook; started again it is on the port that it had."""
        self.launch("webhook", "ftl-sim", "receive", "--http", self.webhook_port, "--port-file", self.path("webhook.port"),
                    "--secret-file", self.path("webhook.secret"), "--store", self.path("receivers", "webhook"),
                    "--log", self.path("receivers", "webhook.jsonl"))

    def start(self, name, environment=None, quick=True):
        """Starts one of our services, for the first time or again; `quick` with leases and back-off of tests."""
        if name == "webhook":
            return self.start_webhook()
        cache = ["--cache.uri", "redis://%s/0" % self.redis] if self.redis else []
        settings = {
            "ftl-ingest": ["--provider.url", self.provider, "--provider.token_file", self.path("token"),
                           "--ingest.poll_interval_ms", self.poll_interval_ms],
            "ftl-deliver": ["--deliver.enabled", "true", *cache, *([
                "--deliver.allowed_hosts", "127.0.0.1", "--deliver.master_key_file", self.path("master.key")] if cache else [])],
            "ftl-serve": ["--serve.address", "127.0.0.1:%s" % getattr(self, "serve_port", 0), *cache],
        }[name]
        self.launch(name, name, *settings, *(QUICK.get(name, []) if quick else []), environment=environment)
        return None

    def kill(self, name):
        """SIGKILL, and waits for the end. Returns what the program had ended with, None when it was running."""
        program = self.programs.pop(name)
        ended_with = program.poll()
        program.kill()
        program.wait()
        return ended_with

    def terminate(self, name):
        program = self.programs.pop(name)
        program.send_signal(signal.SIGTERM)
        try:
            code = program.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
            raise AssertionError("%s does not end within %d s" % (name, STOP_SECONDS)) from None
        if code != 0:
            raise AssertionError("%s ended with %d\n%s" % (name, code, self.log_tail(name)))

    def stop_all(self):
        """In order: nobody is fed by a program that has ended, and the receiver sees everything."""
        for name in ("ftl-ingest", "ftl-deliver", *PULLING, "ftl-serve", "provider", "receive", "webhook"):
            if name in self.programs:
                self.terminate(name)

    # --- Waiting ----------------------------------------------------------------------------------------------------

    def wait_for_file(self, name):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                with open(self.path(name), encoding="utf-8") as file:
                    text = file.read()
                if text:
                    return text
            except FileNotFoundError:
                pass
            time.sleep(0.01)
        raise AssertionError("%s does not appear\n%s" % (name, "".join(map(self.log_tail, self.programs))))

    def watcher(self):
        class Options:
            postgres, provider, process = self.uri, self.provider, []
            pull_list = self.path("files") if self.redis else None
            pulled = [self.path("receivers", name) for name in PULLING]
        return watch.Watcher(Options)

    def wait_until_end(self, limit_seconds):
        """Until everything has been played and has arrived, seen twice."""
        watcher, deadline, times_done, missing = self.watcher(), time.monotonic() + limit_seconds, 0, []
        while time.monotonic() < deadline:
            for name, program in self.programs.items():
                if program.poll() is not None:
                    raise AssertionError("%s ended with %s\n%s" % (name, program.returncode, self.log_tail(name)))
            try:
                missing, _ = watcher.missing()
            except (psycopg2.Error, OSError) as error:
                missing = [str(error)]
            times_done = 0 if missing else times_done + 1
            if times_done == 2:
                watcher.connection.close()
                return
            time.sleep(0.2)
        logs = "".join(self.log_tail(name) for name in ("ftl-ingest", "ftl-deliver"))
        raise AssertionError("not at its end after %d s:\n  %s\n%s" % (limit_seconds, "\n  ".join(missing), logs))

    def log_tail(self, name):
        with open(self.path("logs", name + ".log"), encoding="utf-8", errors="replace") as file:
            return "--- %s\n%s" % (name, "".join(file.readlines()[-15:]))


def copy_run(folder, to):
    """A copy of what a finished run left for the checker."""
    shutil.copytree(os.path.join(folder, "receivers"), os.path.join(to, "receivers"))
    return to


def generate(path, *options):
    subprocess.run([os.path.join(binaries(), "ftl-sim"), "generate", "--out", path, *options], check=True,
                   stdout=subprocess.DEVNULL)
    return path
