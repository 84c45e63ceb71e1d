"""Results that are one JSON document: package metadata, machine state, tool lists."""

import base64
import json
import re
from collections import Counter

from base import HOME, ROOT, Result, at, compact, read, run, spread


def packuments():
    """Metadata of npm packages from npm's cache, as the registry sent it."""
    cache = HOME / ".npm/_cacache"
    found = {}
    for index in sorted((cache / "index-v5").glob("*/*/*")):
        for line in read(index).splitlines():
            if "\t" not in line:
                continue
            entry = json.loads(line.split("\t", 1)[1])
            name = entry["key"].rsplit("registry.npmjs.org/", 1)[-1].replace("%2f", "/")
            if name.endswith(".tgz") or not str(entry.get("integrity", "")).startswith("sha512-"):
                continue
            digest = base64.b64decode(entry["integrity"][7:]).hex()
            found[name] = cache / "content-v2/sha512" / digest[:2] / digest[2:4] / digest[4:]
    sized = sorted((p.stat().st_size, name) for name, p in found.items() if p.exists() and 8_000 < p.stat().st_size < 1_900_000)
    for _, name in spread(sized, 8):
        package = json.loads(found[name].read_bytes())
        yield npm_questions(Result("package metadata", name, found[name].read_text()), package)


def npm_questions(result, package):
    versions = package["versions"]
    latest = package["dist-tags"]["latest"]
    result.ask("count", "How many versions does the package have?", ["versions", len(versions)], keys=["versions"])
    result.ask("lookup", "Which version is the latest?", ["latest", latest], keys=["dist-tags"])
    dated = at(versions, 0.6)
    dist = versions[dated].get("dist", {})
    if "shasum" in dist:
        result.ask("lookup", f"What is the shasum of version {dated}?", dist["shasum"], keys=["versions", "dist", "shasum"])
    licences = sorted({v["license"] for v in versions.values() if isinstance(v.get("license"), str)})
    result.ask("distinct", "Under which licences were versions published?", *licences, keys=["versions", "license"])
    named = [(v, d, r) for v, p in versions.items() for d, r in (p.get("dependencies") or {}).items()]
    if named:
        version, other, range_ = at(named, 0.7)
        result.ask("lookup", f"Which range of {other} does version {version} depend on?", [other, range_],
                   keys=["versions", "dependencies"])
    return result


def workspace():
    """Workspace metadata from cargo, and installed packages from pip."""
    packages = json.loads(run("cargo", "metadata", "--format-version", "1", "--no-deps", "--offline", cwd=ROOT))["packages"]
    text = compact({"packages": packages})
    members = Result("package metadata", "cargo-workspace", text)
    members.ask("count", "How many packages are in the workspace?", ["packages", len(packages)], keys=["packages"])
    most = max(packages, key=lambda p: len(p["dependencies"]))
    members.ask("extreme", "Which package has the most dependencies, and how many?", [most["name"], len(most["dependencies"])],
                keys=["packages", "dependencies", "name"])
    binaries = sorted(t["name"] for p in packages for t in p["targets"] if "bin" in t["kind"])
    members.ask("distinct", "Which binaries are built?", *binaries, keys=["packages", "targets", "kind"])
    members.ask("lookup", "What is the description of gatehouse-net?",
                next(p["description"] for p in packages if p["name"] == "gatehouse-net"), keys=["packages", "description"])
    yield members
    inspected = json.loads(run("python3", "-m", "pip", "inspect"))
    for item in inspected["installed"]:
        item["metadata"].pop("description", None)
    installed = [i["metadata"] for i in inspected["installed"]]
    pip = Result("package metadata", "pip-inspect", compact(inspected))
    pip.ask("count", "How many packages are installed?", ["installed", len(installed)], keys=["installed"])
    one, other = at(installed, 0.3), at(installed, 0.8)
    pip.ask("lookup", f"Which version of {one['name']} is installed?", [one["name"], one["version"]],
            keys=["installed", "metadata", "version"])
    pip.ask("lookup", f"What is the summary of {other['name']}?", other.get("summary", ""), keys=["installed", "metadata", "summary"])
    most = max(installed, key=lambda m: len(m.get("requires_dist", [])))
    pip.ask("extreme", "Which package has the most requirements?", [most["name"], len(most["requires_dist"])],
            keys=["installed", "metadata", "requires_dist"])
    yield pip


def dpkg():
    columns = ["package", "version", "architecture", "section", "status", "size", "source"]
    form = "\t".join(["${Package}", "${Version}", "${Architecture}", "${Section}", "${db:Status-Status}", "${Installed-Size}",
                      "${source:Package}"]) + "\n"
    rows = [dict(zip(columns, line.split("\t"))) for line in run("dpkg-query", "-W", "-f", form).splitlines()]
    for row in rows:
        row["size"] = int(row["size"] or 0)
    return rows


def machine():
    """The state of this machine as JSON."""
    rows = dpkg()
    for name, part in (("dpkg", rows), ("dpkg-libs", [r for r in rows if r["section"] == "libs"])):
        yield dpkg_questions(Result("machine state", name, compact(part)), part)
    processes = [dict(zip(("pid", "ppid", "user", "rss", "command"), line.split(None, 4)))
                 for line in run("ps", "-eo", "pid,ppid,user,rss,comm", "--no-headers").splitlines()]
    for process in processes:
        process.update({key: int(process[key]) for key in ("pid", "ppid", "rss")})
    result = Result("machine state", "processes", json.dumps(processes, indent=1))
    largest = max(processes, key=lambda p: p["rss"])
    result.ask("extreme", "Which process has the largest resident memory?", [largest["pid"], largest["rss"]], keys=["rss", "pid"])
    result.ask("count", "How many processes run?", [len(processes)], keys=["pid"])
    one = at(processes, 0.5)
    result.ask("lookup", f"What is the command of process {one['pid']}?", [one["pid"], one["command"]], keys=["pid", "command"])
    yield result
    commits = [dict(zip(("commit", "author", "date", "subject"), line.split("\t")))
               for line in run("git", "log", "--format=%h\t%an\t%ad\t%s", "--date=short", "82a0946", cwd=ROOT).splitlines()]
    result = Result("machine state", "commits", json.dumps(commits, indent=2))
    result.own = True
    days = Counter(c["date"] for c in commits)
    one, (day, most) = at(commits, 0.4), days.most_common(1)[0]
    result.ask("count", "How many commits are there?", [len(commits)], keys=["commit"])
    result.ask("lookup", f"Which commit has the subject '{one['subject']}'?", one["commit"], keys=["commit", "subject"])
    result.ask("extreme", "On which day were most commits made?", [day, most], keys=["date"])
    result.ask("lookup", "When was the first commit made?", commits[-1]["date"], keys=["date"])
    yield result
    for code in ("3166-1", "3166-2", "4217"):
        text = read(f"/usr/share/iso-codes/json/iso_{code}.json")
        items = json.loads(text)[code]
        result = Result("machine state", f"iso-{code}", text)
        result.ask("count", "How many entries are there?", [code, len(items)], keys=[code])
        keys = list(items[0])
        key = "code" if "code" in keys else keys[0]
        for share in (0.35, 0.75):
            item = at(items, share)
            result.ask("lookup", f"Which {key} does {item['name']} have?", [item["name"], item[key]], keys=[code, "name", key])
        if "type" in keys:
            kind, n = Counter(i["type"] for i in items).most_common(1)[0]
            result.ask("extreme", "Which type is the most frequent?", [kind, n], keys=[code, "type"])
        yield result
    for command in (["ip", "-j", "addr"], ["lsblk", "-J", "-b"]):
        text = run(*command)
        result = Result("machine state", command[0], text)
        names = re.findall(r'"(?:ifname|name)":\s*"([^"]+)"', text)
        result.ask("distinct", "Which devices are there?", *names[:6], keys=["name"])
        yield result


def dpkg_questions(result, rows):
    half, late, largest = at(rows, 0.45), at(rows, 0.85), max(rows, key=lambda r: r["size"])
    result.ask("count", "How many packages are listed?", [len(rows)], keys=["package"])
    result.ask("lookup", f"Which version of {half['package']} is installed?", [half["package"], half["version"]],
               keys=["package", "version"])
    result.ask("extreme", "Which package is the largest, and how large?", [largest["package"], largest["size"]],
               keys=["package", "size"])
    section, n = Counter(r["section"] for r in rows).most_common(2)[-1]
    result.ask("count", f"How many packages are in the section {section}?", [section, n], keys=["section"])
    result.ask("lookup", f"From which source does {late['package']} come?", [late["package"], late["source"]],
               keys=["package", "source"])
    return result


def tools():
    """Tool lists of MCP servers."""
    sets = ROOT / "../shared/data/tool-search"
    docs = json.loads(read(sets / "livemcp_step.json"))["docs"]
    servers = Counter(d["server"] for d in docs)
    picks = [[d for d in docs if d["server"] == s] for s, _ in servers.most_common(5)]
    picks += [docs[:120], docs]
    for number, pick in enumerate(picks):
        listed = [{"name": d["name"], "description": d["description"], "inputSchema": d.get("schema", {})} for d in pick]
        result = Result("tool list", f"{number}-{len(listed)}", compact({"tools": listed}))
        result.ask("count", "How many tools are there?", ["tools", len(listed)], keys=["tools"])
        one = at(listed, 0.6)
        properties = list(one["inputSchema"].get("properties", {}))
        result.ask("lookup", f"Which parameters does the tool {one['name']} take?", [one["name"], *properties[:4]],
                   keys=["tools", "name", "inputSchema", "properties"])
        other = at(listed, 0.3)
        result.ask("lookup", f"What does the tool {other['name']} do?", [other["name"], other["description"][:60].strip()],
                   keys=["tools", "name", "description"])
        required = max(listed, key=lambda t: len(t["inputSchema"].get("required", [])))
        result.ask("extreme", "Which tool has the most required parameters?",
                   [required["name"], *required["inputSchema"].get("required", [])[:3]], keys=["tools", "inputSchema", "required"])
        yield result


ALL = [packuments, workspace, machine, tools]
