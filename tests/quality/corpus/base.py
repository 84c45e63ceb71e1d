"""Results with their questions, and helpers that read this machine."""

import hashlib
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOME = pathlib.Path.home()

# Size range of a result in bytes: smaller ones are never shortened, larger ones take too long.
LEAST, MOST = 2_000, 2_000_000


class Result:
    """A text that a tool could return, with questions that it answers.

    A question has a type (count, lookup, extreme, distinct, error, summary) and facts. A fact is a list of strings; a text
    contains it if they are close together. A text answers a question if it contains every fact, or six in ten for the type
    summary.
    """

    def __init__(self, kind, name, text):
        self.kind, self.name, self.text = kind, name, clean(text)
        self.questions = []
        # True if the text comes from this project, so the repository may contain it.
        self.own = False

    def ask(self, type_, text, *facts, keys=()):
        """Adds a question. `keys` are the names that a jq program for it must use; empty if no program can answer it."""
        facts = [[str(s) for s in (fact if isinstance(fact, (list, tuple)) else [fact])] for fact in facts]
        facts = [fact for fact in facts if all(fact)]
        if facts:
            self.questions.append({"type": type_, "q": text, "facts": facts, "keys": list(keys)})
        return self


def clean(text):
    """Replaces machine-specific paths, so that results are the same on other machines."""
    for folder, name in ((str(ROOT), "/srv/project"), (str(HOME), "/home/user")):
        text = text.replace(folder, name)
    return text


def run(*command, cwd=None, fails=False):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode and not fails:
        raise RuntimeError(f"{command[0]}: {done.stderr[-300:]}")
    return done.stdout + (done.stderr if fails else "")


def read(path):
    return pathlib.Path(path).read_text(errors="replace")


def spread(items, n):
    """Returns `n` evenly spaced items."""
    items = list(items)
    if len(items) <= n:
        return items
    return [items[i * (len(items) - 1) // max(1, n - 1)] for i in range(n)]


def at(items, share):
    """Returns the item at a relative position from 0 to 1."""
    items = list(items)
    return items[min(len(items) - 1, int(len(items) * share))]


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def compact(value):
    return json.dumps(value, ensure_ascii=False)
