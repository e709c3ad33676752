"""The rules of the house that a machine can check. Each returns what breaks it, as lines 'file: what'."""

import json
import os
import re
import subprocess
from pathlib import Path

# From the ground up; a room may include its own headers and those of rooms on floors below.
FLOORS = [
    {"core"},
    {"net", "store", "cache"},
    {"alert"},
    {"outbox"},
    {"capture", "build", "stats"},
    {"deliver", "serve"},
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# The one foreign type in public headers is pqxx::transaction_base&, for work inside the caller's own transaction.
FOREIGN_INCLUDES_ALLOWED = {"pqxx/transaction_base", "pqxx/transaction_base.hxx"}
FOREIGN_NAMESPACES = ["boost", "spdlog", "fmt", "rapidjson", "toml", "prometheus", "cxxopts", "pqxx", "curl", "doctest"]

FILE_LINES_MAX = 500
TEST_NAME_FORBIDDEN = ';[],"'
# Places of somebody's machine; the checkout's own place is added to them.
FORBIDDEN_PLACES = [r"/root/", r"/home/[a-z]"]

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')


def files(root, folders, suffixes):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes:
                yield path


def room_of(include):
    """The room whose header an #include names, or None for a foreign one."""
    parts = include.split("/")
    if parts[0] == "ftlfeed" and len(parts) > 2:
        return parts[1]
    return parts[0] if len(parts) > 1 and parts[0] in FLOOR else None


def floors(root):
    """A room includes only rooms of floors below its own, and no app."""
    for path in files(root, ["include/ftlfeed", "lib"], {".hpp", ".cpp"}):
        relative = path.relative_to(root)
        room = relative.parts[2] if relative.parts[0] == "include" else relative.parts[1]
        if room not in FLOOR:
            if len(relative.parts) > 3 or relative.parts[0] == "lib":
                yield f"{relative}: '{room}' is no room"
            continue
        for include in INCLUDE.findall(path.read_text()):
            other = room_of(include)
            if include.startswith(("apps/", "tests/", "ftl-")) or "../" in include:
                yield f"{relative}: includes {include}"
            elif other and other != room and FLOOR.get(other, len(FLOORS)) >= FLOOR[room]:
                yield f"{relative}: {room} includes {include}, which is not on a floor below"


def foreign_headers(root):
    """A public header includes the standard library and our own headers, and names no foreign type."""
    for path in files(root, ["include"], {".hpp"}):
        relative = path.relative_to(root)
        text = path.read_text()
        for include in INCLUDE.findall(text):
            is_standard = "/" not in include and "." not in include
            if not (is_standard or include.startswith("ftlfeed/") or include in FOREIGN_INCLUDES_ALLOWED):
                yield f"{relative}: includes the foreign header {include}"
        code = STRING.sub('""', COMMENT.sub("", text)).replace("pqxx::transaction_base", "")
        for name in FOREIGN_NAMESPACES:
            if re.search(rf"\b{name}::", code):
                yield f"{relative}: names a type of {name}"


def file_length(root):
    """Files are short enough to be read in one go."""
    for path in files(root, ["include", "lib", "apps", "tests", "bench"], {".hpp", ".cpp", ".py", ".sh"}):
        lines = len(path.read_text().splitlines())
        if lines > FILE_LINES_MAX:
            yield f"{path.relative_to(root)}: {lines} lines, at most {FILE_LINES_MAX}"


def room_pages(root):
    """Each room says in its README.md what comes in and what goes out."""
    for path in sorted((root / "lib").iterdir()):
        if path.is_dir() and any(path.glob("*.cpp")) and not (path / "README.md").exists():
            yield f"{path.relative_to(root)}: has no README.md"


def words(root):
    """Nothing that is only true of one machine, and nothing outside the repository, is named."""
    suffixes = {".hpp", ".cpp", ".py", ".sh", ".md", ".txt", ".cmake", ".sql", ".json", ".toml", ".in", ""}
    mine = {Path("tests/house/rules.py"), Path("tests/house/canaries_test.py")}
    for path in repository_files(root):
        relative = path.relative_to(root)
        if relative in mine or path.suffix not in suffixes or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for word in [*FORBIDDEN_PLACES, re.escape(f"{root}/")]:
            for match in re.finditer(word, text):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{relative}:{line}: says {match.group()}"


def repository_files(root):
    """What git knows or would add; all files where this is no repository."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [root / name for name in sorted(listed.stdout.split("\0")) if name]
    return sorted(root.rglob("*"))


def sql_statements(text):
    """The statements of a script, without comments; bodies in $$ or $name$ stay whole."""
    text = re.sub(r"--[^\n]*", "", text)
    statement, position, quote = "", 0, None
    for match in re.finditer(r"\$\w*\$|;", text):
        statement += text[position:match.start()]
        position = match.end()
        token = match.group()
        if token == ";" and quote is None:
            yield " ".join(statement.split())
            statement = ""
            continue
        if token != ";":
            quote = None if quote == token else (quote or token)
        statement += token
    if (statement + text[position:]).strip():
        yield " ".join((statement + text[position:]).split())


def additive_migrations(root):
    """A migration can meet a database that has its objects already; it drops and rewrites nothing."""
    guarded = re.compile(r"^CREATE (UNLOGGED )?(UNIQUE )?(TABLE|INDEX|SEQUENCE|SCHEMA|EXTENSION)\b", re.I)
    replaced = re.compile(r"^CREATE (FUNCTION|VIEW|PROCEDURE|TRIGGER|RULE)\b", re.I)
    numbers = []
    for path in sorted((root / "migrations").glob("*.up.sql")):
        name = path.name
        number = re.match(r"^(\d{6})_[a-z0-9_]+\.up\.sql$", name)
        if not number:
            yield f"migrations/{name}: is not called NNNNNN_name.up.sql"
            continue
        numbers.append(int(number.group(1)))
        if not (root / "migrations" / name.replace(".up.", ".down.")).exists():
            yield f"migrations/{name}: has no .down.sql"
        for statement in sql_statements(path.read_text()):
            head = statement[:70]
            if guarded.match(statement) and "IF NOT EXISTS" not in statement.upper():
                yield f"migrations/{name}: not IF NOT EXISTS: {head}"
            if replaced.match(statement):
                yield f"migrations/{name}: not OR REPLACE: {head}"
            if re.match(r"^(DROP (?!TRIGGER IF EXISTS)|TRUNCATE|ALTER TABLE .*\bDROP\b(?! (NOT NULL|CONSTRAINT IF EXISTS)))",
                        statement, re.I):
                yield f"migrations/{name}: takes something away: {head}"
            if re.search(r"^ALTER TABLE .*\bADD COLUMN (?!IF NOT EXISTS)", statement, re.I):
                yield f"migrations/{name}: not IF NOT EXISTS: {head}"
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"migrations: the numbers are {numbers}"


def ctest_tests(build):
    listing = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"],
                             capture_output=True, text=True, check=True, cwd=build)
    tests = []
    for test in json.loads(listing.stdout)["tests"]:
        properties = {item["name"]: item["value"] for item in test.get("properties", [])}
        tests.append({"name": test["name"], "labels": set(properties.get("LABELS", []))})
    return tests


NEEDS = {"unit", "pg", "redis", "net", "fuzz", "crash", "browser", "packaging", "soak"}


def test_names(tests):
    """CTest and doctest read every name as it was written, and every test has a room and a need."""
    seen = set()
    for test in tests:
        name = test["name"]
        if "_NOT_BUILT" in name:
            yield f"{name}: its executable was not built"
            continue
        for character in TEST_NAME_FORBIDDEN:
            if character in name:
                yield f"{name}: has a {character}"
        if name in seen:
            yield f"{name}: is the name of two tests"
        seen.add(name)
        if not test["labels"] & NEEDS:
            yield f"{name}: no label says what it needs"
        # `net` is a room and a need, and `crash` is about the whole product.
        if len(test["labels"] - {"threads"}) < 2 and not test["labels"] & {"net", "crash"}:
            yield f"{name}: no label says its room"


PROMISE_ROW = re.compile(r"^\|\s*(?P<id>[^|]+?)\s*\|\s*(?P<promise>[^|]+?)\s*\|\s*`(?P<test>[^`]+)`\s*\|\s*$")


def promises(text, tests):
    """Each promise names a test, and the test exists."""
    names = {test["name"] for test in tests}
    rows = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|") or re.match(r"^\|[\s:|-]+\|$", line) or line.lower().startswith("| id"):
            continue
        rows += 1
        row = PROMISE_ROW.match(line)
        if not row:
            yield f"docs/promises.md:{number}: not of the form | id | promise | `test` |"
        elif row["test"] not in names:
            yield f"docs/promises.md:{number}: no test is called {row['test']}"
    if rows == 0:
        yield "docs/promises.md: lists no promise"


HELP_SETTING = re.compile(r"^\s+--([a-z_]+\.[a-z0-9_.]+)\b", re.M)
PAGE_SETTING = re.compile(r"^\|\s*`([a-z_]+\.[a-z0-9_.]+)`", re.M)


def documented_settings(helps, page):
    """Every setting that a binary's --help lists has a row in docs/configuration.md, and that page invents none."""
    documented = set(PAGE_SETTING.findall(page))
    known = set()
    for binary, text in helps.items():
        keys = HELP_SETTING.findall(text)
        known.update(keys)
        if not keys:
            yield f"{binary} --help: lists no setting"
        for key in keys:
            if key not in documented:
                yield f"docs/configuration.md: lacks `{key}` of {binary}"
    for key in sorted(documented - known):
        yield f"docs/configuration.md: `{key}` is no setting"

