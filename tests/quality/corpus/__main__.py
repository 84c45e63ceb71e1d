"""Makes a corpus of tool results with questions from files on this machine: `python3 corpus FOLDER [--logs FOLDER]`.

The results of `kinds` to `kinds4` are made up from fixed seeds. Writes a file per result, and `gold.jsonl` with the questions.
Answers are computed from the data behind the result, by code that is independent of the summarizer. Every second result of
a kind is held out: do not tune on it. Missing sources are reported and skipped, so the corpus depends on the machine.
`--small` retains only small results made from this project: the fixtures.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from base import LEAST, MOST, sha
import changes, data, kinds, kinds2, kinds3, kinds4, lines, pages, records, traces

SMALL = 50_000


def main(arguments):
    small = "--small" in arguments
    logs = pathlib.Path(arguments[arguments.index("--logs") + 1]) if "--logs" in arguments else None
    folder = pathlib.Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    gold, left_out = [], []
    for module in (data, records, lines, changes, pages, traces, kinds, kinds2, kinds3, kinds4):
        for make in module.ALL:
            try:
                results = list(make(logs) if make.__name__ == "logs" else make())
            except (OSError, RuntimeError, ValueError, KeyError) as error:
                left_out.append(f"{make.__name__}: {error}")
                continue
            results = [r for r in results if LEAST <= len(r.text.encode()) <= MOST and r.questions]
            if small:
                own = [r for r in results if r.own and len(r.text.encode()) <= SMALL]
                results = own[:2]
            for index, result in enumerate(results):
                name = f"{result.kind}-{result.name}".replace("/", "_").replace(" ", "_")
                (folder / name).write_text(result.text)
                gold.append({"file": name, "kind": result.kind, "held_out": index % 2 == 1,
                             "sha256": sha(result.text), "questions": result.questions[:5]})
    with open(folder / "gold.jsonl", "w") as out:
        for line in gold:
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    different = {line["kind"] for line in gold}
    questions = sum(len(line["questions"]) for line in gold)
    print(f"{len(gold)} results of {len(different)} kinds, {questions} questions", file=sys.stderr)
    for line in left_out:
        print(f"left out: {line}", file=sys.stderr)


main(sys.argv[1:])
