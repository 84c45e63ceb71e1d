"""Results that consist of lines: logs, directory listings, settings."""

import re
from collections import Counter

from base import HOME, ROOT, Result, at, read, run, spread


def logs(folder):
    """Logs of dpkg, apt and npm, and build logs from `folder` if it is given."""
    yield dpkg_log(read("/var/log/dpkg.log"))
    text = read("/var/log/alternatives.log")
    result = Result("log", "alternatives", text)
    result.own = True
    groups = re.findall(r"link group (\S+) updated to point to (\S+)", text)
    one = at(groups, 0.5)
    result.ask("lookup", f"What was the link group {one[0]} updated to point to?", list(one))
    result.ask("count", "How often was a link group updated?", ["link group", len(groups)])
    stamps = re.findall(r"^update-alternatives (\S+ \S+):", text, re.M)
    result.ask("extreme", "When was the first entry written?", stamps[0])
    result.ask("extreme", "When was the last entry written?", stamps[-1])
    yield result
    text = read("/var/log/apt/history.log")
    result = Result("log", "apt-history", text)
    commands = re.findall(r"^Commandline: (.*)$", text, re.M)
    result.ask("count", "How many commands were run?", ["Commandline", len(commands)])
    one = at(commands, 0.5)
    result.ask("lookup", f"When was '{one[:60]}' run?", re.findall(r"Start-Date: (\S+  \S+)\nCommandline: " + re.escape(one), text)[0])
    upgraded = re.findall(r"(\S+):amd64 \((\S+), (\S+)\)", "\n".join(re.findall(r"^Upgrade: .*$", text, re.M)))
    if upgraded:
        one = at(upgraded, 0.5)
        result.ask("lookup", f"To which version was {one[0]} upgraded?", [one[0], one[2]])
    result.ask("extreme", "When did the last command end?", re.findall(r"End-Date: (\S+  \S+)", text)[-1])
    yield result
    text = read("/var/log/apt/term.log")
    result = Result("log", "apt-term", text)
    result.ask("count", "How many packages were unpacked?", ["Unpacking", len(re.findall(r"^Unpacking ", text, re.M))])
    result.ask("count", "How many packages were set up?", ["Setting up", len(re.findall(r"^Setting up ", text, re.M))])
    warned = re.findall(r"^(?:dpkg: warning|update-alternatives: warning|invoke-rc.d|debconf): .*$", text, re.M)
    if warned:
        line, n = Counter(warned).most_common(1)[0]
        result.ask("error", "Which warning was given most often?", line[:60])
    one = at(re.findall(r"^Setting up (\S+) \((\S+)\)", text, re.M), 0.6)
    result.ask("lookup", f"Which version of {one[0]} was set up?", list(one))
    yield result
    for path in spread(sorted((HOME / ".npm/_logs").glob("*.log"), key=lambda p: -p.stat().st_size)[:6], 4):
        yield npm_log(path.stem[:19], read(path))
    for path in sorted(folder.glob("*.log")) if folder else []:
        yield build_log(path.stem, re.sub(r"/\w+/\w+(?=/(?:host|gates|tests|xtask)/)", "/srv/project", read(path)))


def dpkg_log(text):
    result = Result("log", "dpkg", text)
    lines = [line.split() for line in text.splitlines()]
    result.ask("count", "How many packages became installed (status installed)?",
               ["status installed", sum(line[2:4] == ["status", "installed"] for line in lines)])
    result.ask("count", "How often does 'upgrade' stand in the log as an action?",
               ["upgrade", sum(line[2] == "upgrade" for line in lines)])
    removed = [line[3] for line in lines if line[2] in ("remove", "purge")]
    if removed:
        result.ask("distinct", "Which packages were removed?", *sorted(set(removed))[:4])
    result.ask("extreme", "When was the first line written?", " ".join(lines[0][:2]))
    days = Counter(line[0] for line in lines)
    result.ask("extreme", "On which day was most written?", [days.most_common(1)[0][0], days.most_common(1)[0][1]])
    one = at([line for line in lines if line[2] == "install"], 0.6)
    result.ask("lookup", f"Which version of {one[3]} was installed?", [one[3], one[5]])
    return result


def npm_log(name, text):
    result = Result("log", f"npm-{name}", text)
    fetched = re.findall(r"http fetch GET (\d+) (\S+) (\d+)ms", text)
    levels = Counter(re.findall(r"^\d+ (\w+) ", text, re.M))
    for level in ("warn", "error"):
        lines = re.findall(rf"^\d+ {level} (.*)$", text, re.M)
        if lines:
            result.ask("error", f"What does the first line of level {level} say?", lines[0][:50])
            result.ask("count", f"How many lines are of level {level}?", [level, levels[level]])
    if fetched:
        slowest = max(fetched, key=lambda f: int(f[2]))
        result.ask("extreme", "Which fetch took longest?", [slowest[1], f"{slowest[2]}ms"])
        result.ask("count", "How many fetches (http fetch GET) were made?", ["http fetch GET", len(fetched)])
        one = at(fetched, 0.5)
        result.ask("lookup", f"With which status was {one[1]} fetched?", [one[1], one[0]])
    return result


def build_log(name, text):
    result = Result("log", f"build-{name}", text)
    failed = re.findall(r"^\s+(?:FAIL|TIMEOUT|SIGABRT) \[[^\]]*\] (?:\([^)]*\) )?(.*)$", text, re.M)
    errors = re.findall(r"^error(?:\[E\d+\])?: (.*)$", text, re.M)
    warnings = re.findall(r"^warning: (.*)$", text, re.M)
    passed = re.findall(r"^\s+PASS \[", text, re.M)
    if failed:
        result.ask("error", "Which test failed?", *[[f.split()[-1]] for f in sorted(set(failed))[:3]])
    if errors:
        result.ask("error", "Which error is reported first?", errors[0][:60])
    if warnings:
        result.ask("error", "What is warned of first?", warnings[0][:60])
    if passed:
        said = re.findall(r"(\d+) passed", text)
        result.ask("count", "How many tests passed?", [said[-1] if said and said[-1] != "0" else len(passed)])
    compiled = re.findall(r"^\s+Compiling (\S+) v(\S+)", text, re.M)
    if compiled:
        one = at(compiled, 0.5)
        result.ask("lookup", f"Which version of {one[0]} was compiled?", [one[0], one[1]])
        result.ask("count", "How many crates were compiled?", ["Compiling", len(compiled)])
    finished = re.findall(r"^\s+Finished .*$", text, re.M)
    if finished:
        result.ask("lookup", "How long did the first build take?", re.findall(r"in (.*)$", finished[0])[0])
    return result


def listings():
    """Directory listings of find, ls and du."""
    for name, folder, depth in (("docs", "/usr/share/doc", 2), ("python", "/usr/lib/python3", 6), ("etc", "/etc", 3)):
        found = sorted(run("find", folder, "-maxdepth", str(depth), fails=True).splitlines())
        yield listing_questions(Result("listing", f"find-{name}", "\n".join(found) + "\n"), found)
    own = sorted(run("git", "ls-tree", "-r", "--name-only", "82a0946", cwd=ROOT).splitlines())
    for name, part in (("project", own), ("host", [p for p in own if p.startswith("host/")][:300])):
        result = listing_questions(Result("listing", f"git-{name}", "\n".join(part) + "\n"), part)
        result.own = True
        yield result
    for folder in ("/usr/bin", "/usr/lib/x86_64-linux-gnu"):
        text = run("ls", "-l", "--time-style=long-iso", folder)
        rows = [line.split(None, 7) for line in text.splitlines()[1:]]
        result = Result("listing", "ls-" + folder.rsplit("/", 1)[1], text)
        files = [r for r in rows if r[0][0] == "-"]
        largest = max(files, key=lambda r: int(r[4]))
        result.ask("extreme", "Which file is the largest?", [largest[7], largest[4]])
        one = at(files, 0.4)
        result.ask("lookup", f"How large is {one[7]}?", [one[7], one[4]])
        result.ask("count", "How many symbolic links are there?", ["link", sum(r[0][0] == "l" for r in rows)])
        pointed = at([r[7] for r in rows if " -> " in r[7]], 0.5).split(" -> ")
        result.ask("lookup", f"Where does {pointed[0]} point to?", pointed)
        yield result
    text = run("du", "-a", "--max-depth=2", "/usr/share", fails=True)
    rows = [line.split("\t") for line in text.splitlines()]
    result = Result("listing", "du-share", text)
    largest = max((r for r in rows if r[1].count("/") == 3), key=lambda r: int(r[0]))
    one = at(rows, 0.7)
    result.ask("extreme", "Which folder right under /usr/share is the largest?", [largest[1], largest[0]])
    result.ask("lookup", f"How large is {one[1]}?", [one[1], one[0]])
    yield result


def listing_questions(result, paths):
    extensions = Counter(p.rsplit(".", 1)[1] for p in paths if "." in p.rsplit("/", 1)[-1][1:])
    extension, n = extensions.most_common(2)[-1]
    result.ask("count", "How many paths are listed?", [len(paths)])
    result.ask("count", f"How many names end in .{extension}?", [extension, n])
    parents = Counter(p.rsplit("/", 1)[0] for p in paths if "/" in p)
    parent, most = parents.most_common(1)[0]
    result.ask("extreme", "Which folder has the most entries directly in it?", [parent, most])
    names = Counter(p.rsplit("/", 1)[1] for p in paths if "/" in p)
    one = at([p for p in paths if "/" in p and names[p.rsplit("/", 1)[1]] == 1], 0.65)
    result.ask("lookup", f"In which folder is {one.rsplit('/', 1)[1]}?", [one])
    return result


def settings():
    """Lock files and settings, in TOML or as `name = value` lines."""
    text = read(ROOT / "Cargo.lock")
    packages = re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', text)
    result = Result("settings", "Cargo.lock", text)
    one, twice = at(packages, 0.55), [n for n, c in Counter(n for n, _ in packages).items() if c > 2]
    result.ask("count", "How many packages are locked?", ["package", len(packages)])
    result.ask("lookup", f"Which version of {one[0]} is locked?", list(one))
    if twice:
        result.ask("lookup", f"Which versions of {twice[0]} are locked?", *[v for n, v in packages if n == twice[0]])
    yield result
    text = read(ROOT / "presets.toml") if (ROOT / "presets.toml").exists() else read(ROOT / "Cargo.toml")
    result = Result("settings", "presets.toml", text)
    result.own = True
    headers = re.findall(r"^\[+([^\]]+)\]+$", text, re.M)
    result.ask("summary", "Which sections are there?", *spread(headers, 6))
    one = at(re.findall(r"^(\w+) = (\S.*)$", text, re.M), 0.5)
    result.ask("lookup", f"What is {one[0]} set to?", [one[0], one[1][:60]])
    yield result
    text = run("/usr/sbin/sysctl", "-a", fails=True)
    lines = [re.split(r"\s+=?\s*", line, maxsplit=1) for line in text.splitlines() if re.match(r"^\w\S+\s+\S", line)]
    result = Result("settings", "sysctl", text)
    for share in (0.3, 0.7):
        one = at(lines, share)
        result.ask("lookup", f"What stands beside {one[0]}?", [one[0], one[1].strip()])
    yield result
    text = read("/etc/ssl/openssl.cnf")
    result = Result("settings", "openssl.cnf", text)
    headers = [h.strip() for h in re.findall(r"^\[([^\]]+)\]", text, re.M)]
    result.ask("summary", "Which sections are there?", *spread(headers, 8))
    one = at(re.findall(r"^(\w+)\s*=\s*(\S+)", text, re.M), 0.5)
    result.ask("lookup", f"What is {one[0]} set to?", list(one))
    yield result


ALL = [logs, listings, settings]
