"""Results that are records: JSON Lines, tables, database dumps."""

import csv
import io
import json
import re
import sqlite3
from collections import Counter

from base import HOME, ROOT, Result, at, compact, read, run, spread
from data import dpkg


def crates():
    """Crate versions from cargo's index, and questions of this project, one JSON value per line."""
    index = sorted((HOME / ".cargo/registry/index").glob("index*/.cache/*/*/*"), key=lambda p: (p.stat().st_size, p.name))
    for path in spread([p for p in index if 15_000 < p.stat().st_size < 600_000], 5):
        parts = [p for p in path.read_bytes().split(b"\0") if p.startswith(b"{")]
        versions = [json.loads(p) for p in parts]
        result = Result("JSON Lines", path.name, "\n".join(p.decode() for p in parts) + "\n")
        result.ask("count", "How many versions are there?", [len(versions)], keys=["vers"])
        yanked = sorted(v["vers"] for v in versions if v["yanked"])
        if yanked:
            result.ask("count", "How many versions were yanked?", ["yanked", len(yanked)], keys=["yanked"])
        one = at(versions, 0.55)
        result.ask("lookup", f"What is the checksum (cksum) of version {one['vers']}?", one["cksum"], keys=["vers", "cksum"])
        most = max(versions, key=lambda v: len(v["deps"]))
        result.ask("extreme", "Which version has the most dependencies?", [most["vers"], len(most["deps"])], keys=["vers", "deps"])
        rust = sorted({v["rust_version"] for v in versions if v.get("rust_version")})
        result.ask("distinct", "Which versions of Rust are asked for (rust_version)?", *rust[:6], keys=["rust_version"])
        yield result
    for name in ("sample", "wiki"):
        text = read(ROOT / f"tests/fixtures/queries/{name}.jsonl")
        items = [json.loads(line) for line in text.splitlines()]
        result = Result("JSON Lines", name, text)
        result.own = True
        result.ask("count", "How many questions are there?", [len(items)], keys=["q"])
        one = at(items, 0.5)
        result.ask("lookup", f"What answers the question '{one['q']}'?", [one["rel"][0]], keys=["q", "rel"])
        most = max(items, key=lambda i: len(i["rel"]))
        result.ask("extreme", "Which question has the most answers?", [most["q"][:60]], keys=["q", "rel"])
        yield result


def tables():
    """Tables separated by commas, tabs or spaces."""
    rows = dpkg()
    for name, part in (("dpkg", rows), ("dpkg-python", [r for r in rows if r["section"] == "python"])):
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(part)
        result = Result("table", f"{name}.csv", out.getvalue())
        result.own = name == "dpkg-python"
        one, largest = at(part, 0.4), max(part, key=lambda r: r["size"])
        result.ask("count", "How many packages are there?", [len(part)])
        result.ask("lookup", f"Which version of {one['package']} is installed?", [one["package"], one["version"]])
        result.ask("extreme", "Which package is the largest?", [largest["package"], largest["size"]])
        section, n = Counter(r["architecture"] for r in part).most_common(1)[0]
        result.ask("count", f"How many have the architecture {section}?", [section, n])
        yield result
    text = run("dpkg", "-l")
    lines = [line.split(None, 4) for line in text.splitlines() if line.startswith("ii")]
    result = Result("table", "dpkg-l", text)
    one, other = at(lines, 0.3), at(lines, 0.7)
    result.ask("count", "How many packages are installed (ii)?", ["ii", len(lines)])
    result.ask("lookup", f"Which version of {one[1]} is installed?", [one[1], one[2]])
    result.ask("lookup", f"What is {other[1]}?", [other[1], other[4][:40].strip()])
    yield result
    text = read("/usr/share/zoneinfo/zone1970.tab")
    zones = [line.split("\t") for line in text.splitlines() if line and line[0] != "#"]
    result = Result("table", "zone1970.tab", text)
    one, most = at(zones, 0.5), max(zones, key=lambda z: len(z[0]))
    result.ask("count", "How many zones are there?", [len(zones)])
    result.ask("lookup", f"What are the coordinates of {one[2]}?", [one[2], one[1]])
    result.ask("extreme", "Which zone is used by the most countries?", [most[2]])
    yield result
    text = read("/etc/services")
    services = [line.split() for line in text.splitlines() if re.match(r"^[a-z]", line)]
    result = Result("table", "services", text)
    one = at(services, 0.6)
    result.ask("lookup", f"Which port does {one[0]} use?", [one[0], one[1]])
    result.ask("count", "How many services use udp?", ["udp", sum(s[1].endswith("/udp") for s in services)])
    last = services[-1]
    result.ask("lookup", f"Which port does {last[0]} use?", [last[0], last[1]])
    yield result
    numstat = [line.split("\t") for line in run("git", "log", "--numstat", "--format=", "82a0946", cwd=ROOT).splitlines() if line]
    total = Counter()
    for added, removed, path in numstat:
        if added != "-" and "=>" not in path:
            total[path] += int(added) + int(removed)
    for name, part in (("changed-files.tsv", total.most_common(250)), ("changed-all.tsv", sorted(total.items()))):
        result = Result("table", name, "path\tlines\n" + "".join(f"{path}\t{n}\n" for path, n in part))
        result.own = name == "changed-files.tsv"
        one, top = at(part, 0.5), max(part, key=lambda p: p[1])
        result.ask("extreme", "Which file was changed most, and in how many lines?", [top[0], top[1]])
        result.ask("lookup", f"How many lines were changed in {one[0]}?", [one[0], one[1]])
        result.ask("count", "How many files are listed?", [len(part)])
        yield result


def dumps():
    """Databases as SQL dumps."""
    cargo = run("sqlite3", "-readonly", str(HOME / ".cargo/.global-cache"), ".dump")
    made = sqlite3.connect(":memory:")
    rows = dpkg()
    made.execute("CREATE TABLE source (name TEXT PRIMARY KEY)")
    made.execute("CREATE TABLE package (name TEXT, version TEXT, section TEXT, size INTEGER, source TEXT REFERENCES source(name))")
    made.executemany("INSERT OR IGNORE INTO source VALUES (?)", [[r["source"]] for r in rows])
    made.executemany("INSERT INTO package VALUES (?,?,?,?,?)",
                     [[r["package"], r["version"], r["section"], r["size"], r["source"]] for r in rows])
    made.execute("CREATE INDEX package_section ON package(section)")
    iso = sqlite3.connect(":memory:")
    iso.execute("CREATE TABLE currency (code TEXT PRIMARY KEY, name TEXT, number TEXT)")
    iso.executemany("INSERT INTO currency VALUES (?,?,?)", [[c["alpha_3"], c["name"], c["numeric"]] for c in
                    json.loads(read("/usr/share/iso-codes/json/iso_4217.json"))["4217"]])
    texts = {"cargo-cache": cargo, "packages": "\n".join(made.iterdump()), "currencies": "\n".join(iso.iterdump())}
    for path in spread(sorted((ROOT / "host/stores/src").rglob("*.sql"), key=lambda p: p.stat().st_size), 3):
        texts[path.name] = read(path)
    for path in ("/usr/share/postgresql/15/information_schema.sql", "/usr/share/postgresql/15/system_views.sql"):
        texts[path.rsplit("/", 1)[1]] = read(path)
    for name, text in texts.items():
        result = Result("SQL", name, text)
        result.own = name in ("currencies", "page.sql")
        created = re.findall(r"CREATE (?:VIRTUAL )?(?:TABLE|VIEW)(?: IF NOT EXISTS)? \"?(\w+)", text)
        result.ask("distinct", "Which tables or views are created?", *created[:8])
        inserts = Counter(re.findall(r"INSERT INTO \"?(\w+)", text))
        for table, n in inserts.most_common(1):
            result.ask("count", f"How many rows go into {table}?", [table, n])
            row = at([line for line in text.splitlines() if f"INTO {table} " in line or f'INTO "{table}" ' in line], 0.6)
            values = [v.strip("'") for v in re.findall(r"'[^']*'", row)]
            if len(values) > 1:
                result.ask("lookup", f"Which row of {table} holds {values[0]}?", [values[0], values[1]])
        if created:
            table = at(created, 0.5)
            body = text[text.index(table):]
            columns = re.findall(r"^\s+(\w+)\s+(?:TEXT|INTEGER|BLOB|text|bigint|uuid)", body.split(";")[0], re.M)
            if len(columns) > 1:
                result.ask("lookup", f"Which columns does {table} have?", [table, *columns[:4]])
        yield result


ALL = [crates, tables, dumps]
