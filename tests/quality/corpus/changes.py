"""Results that are code or code changes."""

import ast
import re
from collections import Counter

from base import HOME, ROOT, Result, at, read, run, spread

# Commits of this project, small to large.
COMMITS = ["d3efd82", "d770dee", "ab48b14", "dd57dfe", "9299708", "d2ca339", "64453f9"]


def diffs():
    """Commits of this project, and patches shipped with pyenv."""
    for number, commit in enumerate(COMMITS):
        text = run("git", "show", "--format=commit %h%n%n    %s%n", commit, cwd=ROOT)
        result = diff_questions(Result("diff", commit, text), text)
        result.own = number < 3
        yield result
    text = run("git", "diff", f"{COMMITS[-1]}~3", COMMITS[-1], "--", "host", cwd=ROOT)
    yield diff_questions(Result("diff", "three-commits", text), text)
    patches = (HOME / ".pyenv/plugins/python-build/share").rglob("*.patch")
    for path in spread(sorted(patches, key=lambda p: (p.stat().st_size, p.name))[-20:], 2):
        yield diff_questions(Result("diff", path.stem, read(path)), read(path))


def diff_questions(result, text):
    files, path = {}, None
    for line in text.splitlines():
        if line.startswith("diff --git") or (line.startswith("--- ") and path is None):
            path = None
        if line.startswith("+++ "):
            path = line[4:].split("\t")[0].removeprefix("b/")
            files.setdefault(path, [0, 0])
        elif path and line.startswith("+") and not line.startswith("+++"):
            files[path][0] += 1
        elif path and line.startswith("-") and not line.startswith("---"):
            files[path][1] += 1
    files.pop("/dev/null", None)
    named = re.findall(r"^diff --git a/\S+ b/(\S+)", text, re.M) or list(files)
    result.ask("count", "How many files are changed?", ["files", len(set(named))])
    most = max(files, key=lambda f: sum(files[f]))
    result.ask("extreme", "Which file has the most changed lines, and how many are added?", [most, files[most][0]])
    if len(files) > 2:
        one = at(files, 0.6)
        result.ask("lookup", f"How many lines are added to and removed from {one}?", [one, *files[one]])
    new = re.findall(r"^diff --git a/\S+ b/(\S+)\nnew file", text, re.M)
    if new:
        result.ask("distinct", "Which files are new?", *spread(new, 4))
    added = re.findall(r"^\+(?:    )?(?:pub(?:\(crate\))? )?(?:fn|struct|def|trait) (\w{6,})", text, re.M)
    if added:
        result.ask("summary", "Which functions and types are added?", *spread(list(dict.fromkeys(added)), 6))
    return result


def sources():
    """Source files in several languages."""
    registry = next((HOME / ".cargo/registry/src").iterdir())
    python = HOME / ".pyenv/versions/3.11.7/lib/python3.11"
    for name in ("heapq.py", "json/decoder.py", "statistics.py", "argparse.py"):
        yield python_questions(Result("code", name.replace("/", "-"), read(python / name)), read(python / name))
    rust = [registry / "regex-automata-0.4.18/src/meta/regex.rs", *[ROOT / p for p in
            ("host/text/src/layout.rs", "host/core/src/search/fuse.rs", "host/text/src/extract/keep.rs")]]
    for path in (p for p in rust if p.exists()):
        result = Result("code", path.name, read(path))
        result.own = str(path).startswith(str(ROOT))
        yield rust_questions(result, read(path))
    for path in ("/usr/include/zlib.h", "/usr/lib/node_modules/npm/lib/commands/audit.js", "/usr/lib/node_modules/npm/lib/npm.js"):
        text = read(path)
        result = Result("code", path.rsplit("/", 1)[1], text)
        names = re.findall(r"^ZEXTERN .*?ZEXPORT (\w+)|^  (?:static )?(?:async )?#?(\w+) \(.*\) \{$", text, re.M)
        names = list(dict.fromkeys(a or b for a, b in names if (a or b) not in ("if", "for", "switch", "while", "constructor")))
        result.ask("summary", "Which functions does it have?", *spread(names, 8))
        if names:
            one = at(names, 0.5)
            line = text[: text.index(f"{one} (" if f"{one} (" in text else one)].count("\n") + 1
            result.ask("lookup", f"On which line does {one} begin?", [one, line])
        yield result


def python_questions(result, text):
    tree = ast.parse(text)
    top = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    classes = [n for n in top if isinstance(n, ast.ClassDef)]
    public = [n for n in top if not n.name.startswith("_")]
    result.ask("summary", "Which public functions and classes are defined?", *[n.name for n in spread(public, 8)])
    if len(classes) > 1:
        result.ask("count", "How many classes are defined?", ["class", len(classes)])
    told = [n for n in public if ast.get_docstring(n)]
    if told:
        one = at(told, 0.5)
        result.ask("lookup", f"What does {one.name} do?", [one.name, ast.get_docstring(one).splitlines()[0][:40]])
    one = at(top, 0.7)
    result.ask("lookup", f"On which line does {one.name} begin?", [one.name, one.lineno])
    longest = max((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)), key=lambda n: n.end_lineno - n.lineno)
    result.ask("extreme", "Which function is the longest?", longest.name)
    return result


def rust_questions(result, text):
    lines = text.splitlines()
    items = [(n, m[1], m[2]) for n, line in enumerate(lines, 1)
             if (m := re.match(r"\s*(?:pub(?:\([\w: ]+\))? )?(?:const )?(fn|struct|enum|trait|mod) (\w+)", line))]
    public = [i for i in items if re.match(r"\s*pub", lines[i[0] - 1])]
    result.ask("summary", "Which public items does it have?", *[name for _, _, name in spread(public, 8)])
    result.ask("count", "How many functions are there?", ["fn", sum(kind == "fn" for _, kind, _ in items)])
    one = at(items, 0.6)
    result.ask("lookup", f"On which line does {one[2]} begin?", [one[2], one[0]])
    told = [i for i in public if lines[i[0] - 2].strip().startswith("/// ")]
    if told:
        n, _, name = at(told, 0.5)
        while lines[n - 2].strip().startswith("///"):
            n -= 1
        result.ask("lookup", f"What is {name} for?", [name, lines[n - 1].strip()[4:44].strip()])
    return result


ALL = [diffs, sources]
