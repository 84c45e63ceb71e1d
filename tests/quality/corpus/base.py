"""What the corpus is made of: results with their questions, and what finds them on this machine."""

import hashlib
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOME = pathlib.Path.home()

# Bytes of a result: smaller ones are never shortened, larger ones take too long for every run.
LEAST, MOST = 2_000, 2_000_000


class Result:
    """A text that a tool could have returned, with questions that the whole of it answers.

    A question has a type (count, lookup, extreme, distinct, error, summary) and facts. A fact is a list of strings; a
    text holds it where all of them stand close together. A question is answered where every fact is there; one of the
    type summary where six in ten are.
    """

    def __init__(self, kind, name, text):
        self.kind, self.name, self.text = kind, name, clean(text)
        self.questions = []
        # Whether it is made of this project's own text and may stand in its repository.
        self.own = False

    def ask(self, type_, text, *facts, keys=()):
        """`keys` are what a jq program for the question has to name; none where there is no such program."""
        facts = [[str(s) for s in (fact if isinstance(fact, (list, tuple)) else [fact])] for fact in facts]
        facts = [fact for fact in facts if all(fact)]
        if facts:
            self.questions.append({"type": type_, "q": text, "facts": facts, "keys": list(keys)})
        return self


def clean(text):
    """Without what names the place where it was made: the same results look the same elsewhere."""
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
    """`n` of the items, evenly spread."""
    items = list(items)
    if len(items) <= n:
        return items
    return [items[i * (len(items) - 1) // max(1, n - 1)] for i in range(n)]


def at(items, share):
    """The item so far into the list."""
    items = list(items)
    return items[min(len(items) - 1, int(len(items) * share))]


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def compact(value):
    return json.dumps(value, ensure_ascii=False)
