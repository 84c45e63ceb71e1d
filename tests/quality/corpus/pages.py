"""Results that are prose: Markdown, change logs, HTML pages. Most questions are written by hand."""

import html
import pathlib
import re

from base import HOME, ROOT, Result, at, read, spread

# Files of this project, with questions and facts. A fact that is not in its file fails `markdown`.
OWN = {
    "docs/backup.md": [
        ("lookup", "Which mode does a backup file have?", ["0600"]),
        ("lookup", "How deep may directories be that are backed up?", ["64 directories"]),
        ("lookup", "What does a restore need while a host runs on the data folder?", ["refused while a host runs"]),
        ("summary", "What is in a backup?", ["knowledge.db"], ["documents.db"], ["kv.db"], ["gates/"], ["manifest.json"]),
    ],
    "docs/documents.md": [
        ("lookup", "How large may a file be that docs add reads?", ["4 MiB"]),
        ("lookup", "What does docs add say of a lock file?", ["is a lock file"]),
        ("distinct", "Which tools does the preset documents show?", ["list_repositories_with_navigation"],
         ["mfai_document_retrieval"], ["read_repository_file"]),
        ("lookup", "What does a Word file become?", ["Word", "its text as Markdown"]),
    ],
    "docs/security.md": [
        ("summary", "What are the sections about?", ["See it for yourself"], ["Protections"], ["Grants"], ["Questions"],
         ["Installing gates"], ["Secrets"]),
        ("lookup", "What does reusing an instance give up?", ["reuse", "can then see"]),
    ],
    "docs/knowledge.md": [
        ("summary", "Which parts does the page have?", ["Pages"], ["Indexing"], ["The tools"], ["Writing new pages"], ["Editing"],
         ["How search works"]),
        ("lookup", "Which section tells of the index file?", ["The index file"]),
    ],
    "docs/postgresql.md": [
        ("summary", "What does the page tell?", ["Requirements"], ["Setup"], ["Move a graph"],
         ["Failures of the server"]),
        ("lookup", "What is different from SQLite?", ["Differences from SQLite"]),
    ],
}

CRATES = {
    "ureq-3.5.1/README.md": [
        ("lookup", "Which features are enabled by default?", ["rustls", "gzip", "default"]),
        ("lookup", "What is the default of timeout_await_100?", ["one second"]),
        ("lookup", "Which cryptographic provider is used by default?", ["ring"]),
        ("summary", "Which sections are there?", ["Usage"], ["Timeouts"], ["Features"], ["Error handling"], ["TLS (https)"]),
    ],
    "scc-2.4.0/README.md": [
        ("lookup", "How associative is HashCache?", ["32-way associative"]),
        ("distinct", "Which containers does it offer?", ["HashMap"], ["HashSet"], ["HashIndex"], ["HashCache"], ["TreeIndex"]),
        ("lookup", "When are buckets of removed entries reclaimed?", ["50% of the capacity"]),
    ],
    "getrandom-0.4.3/README.md": [
        ("lookup", "What does it use on Windows 10?", ["Windows 10", "ProcessPrng"]),
        ("lookup", "What does it use on QNX Neutrino?", ["QNX Neutrino", "/dev/urandom"]),
        ("lookup", "What does it use on WASI 0.2?", ["WASI 0.2", "get-random-u64"]),
        ("summary", "Which sections are there?", ["Examples"], ["Supported targets"], ["WebAssembly support"],
         ["Opt-in backends"]),
    ],
    "foldhash-0.2.0/README.md": [
        ("lookup", "On which machines was performance tested?", ["2023 Apple M2"]),
        ("lookup", "How large is a foldhash HashMap of u32?", ["foldhash::HashMap<u32, u32>", "40"]),
        ("lookup", "Which version of Rust was used for the tests?", ["Rust 1.80.1"]),
    ],
}

HTML = {
    "book/ch04-01-what-is-ownership.html": [
        ("summary", "Which sections are there?", ["The Stack and the Heap"], ["Ownership Rules"], ["Variable Scope"],
         ["Memory and Allocation"], ["Return Values and Scope"]),
        ("lookup", "What is ownership?", ["set of rules that govern how a Rust program manages memory"]),
        ("lookup", "What are the ownership rules?", ["Each value in Rust has an owner"], ["only be one owner at a time"],
         ["the owner goes out of scope"]),
    ],
    "book/ch09-02-recoverable-errors-with-result.html": [
        ("summary", "Which sections are there?", ["Recoverable Errors with Result"], ["Matching on Different Errors"],
         ["Propagating Errors"]),
        ("lookup", "Which two variants does the Result enum have?", ["two variants, Ok and Err"]),
    ],
}


def markdown():
    """Documents of this project, and READMEs and change logs of crates."""
    registry = next((HOME / ".cargo/registry/src").iterdir())
    for base, pages, own in ((ROOT, OWN, True), (registry, CRATES, False)):
        for name, questions in pages.items():
            text = read(base / name)
            result = asked(Result("Markdown", name.replace("/", "-"), text), questions, plain(text))
            result.own = own
            yield result
    logs = sorted(registry.glob("*/CHANGELOG.md"), key=lambda p: (p.stat().st_size, p.name))
    for path in spread([p for p in logs if p.stat().st_size > 8_000], 5):
        yield changelog(Result("Markdown", path.parent.name + "-CHANGELOG.md", read(path)), read(path))


def changelog(result, text):
    released = re.findall(r"^#+ (?:Version |v)?\[?v?(\d+\.\d+\.\d+[^\s\]]*)\]?[^\n]*?(\d{4}-\d\d-\d\d|\w+ \d+\w*, \d{4})", text, re.M)
    versions = re.findall(r"^#+ (?:Version |v)?\[?v?(\d+\.\d+\.\d+[^\s\]:]*)", text, re.M)
    if versions:
        result.ask("extreme", "Which is the newest version?", [versions[0]])
        result.ask("count", "How many versions are described?", [len(versions)])
        one = at(versions, 0.4)
        body = text[text.index(one):].split("\n#")[0] if len(one) > 4 else ""
        changes = re.findall(r"^[*-] (.{25,})$", text[text.index(one):], re.M)
        if body and changes:
            result.ask("lookup", f"What changed in {one}?", [plain(changes[0])[:30]])
    if released:
        version, date = at(released, 0.6)
        result.ask("lookup", f"When was {version} released?", [version, date])
    return result


def pages():
    """HTML pages: a book, an API reference, command manuals."""
    toolchain = next((HOME / ".rustup/toolchains").glob("stable*"))
    base = toolchain / "share/doc/rust/html"
    for name, questions in HTML.items():
        text = read(base / name)
        yield asked(Result("HTML", name.rsplit("/", 1)[1], text), questions, plain(text))
    for name in ("std/time/struct.Duration.html", "std/fs/index.html", "std/vec/struct.Vec.html"):
        text = read(base / name)
        result = Result("HTML", name.rsplit("/", 1)[1] if "index" not in name else "std-fs.html", text)
        methods = list(dict.fromkeys(re.findall(r'id="method\.(\w+)"', text)))
        items = re.findall(r'<dt>.*?title="(?:fn|struct) [\w:]+::(\w+)".*?</dt><dd>(.*?)</dd>', text, re.S)
        if methods:
            result.ask("summary", "Which methods are there?", *spread(methods, 6))
            one = at(methods, 0.3)
            after = text[text.index(f'id="method.{one}"'):]
            told = re.search(r"<p>(.*?)</p>", after, re.S)
            result.ask("lookup", f"What does {one} do?", [one, plain(told[1])[:40]])
        for share in (0.3, 0.7):
            if items:
                name, told = at(items, share)
                result.ask("lookup", f"What does {name} do?", [name, plain(told)[:40]])
        yield result
    files = [pathlib.Path("/usr/lib/node_modules/npm/docs/output/commands") / f"npm-{c}.html" for c in ("audit", "install", "ci")]
    files += [pathlib.Path("/usr/share/doc/libxslt1-dev/html/html/libxslt-transform.html")]
    for path in files:
        text = read(path)
        result = Result("HTML", path.name, text)
        headings = [plain(h) for h in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", text, re.S)]
        headings = list(dict.fromkeys(h for h in headings if 3 < len(h) < 60 and h != "Table of contents"))
        result.ask("summary", "Which sections are there?", *spread(headings, 6))
        options = re.findall(r'<h3 id="([\w-]+)"><code>[^<]*</code></h3>\s*<ul>\s*<li>Default: (.*?)</li>', text, re.S)
        for share in (0.25, 0.75):
            if options:
                name, default = at(options, share)
                result.ask("lookup", f"What is the default of {name}?", [name, plain(default)[:40]])
        functions = re.findall(r'<h3><a name="(\w+)"[^>]*></a>Function: \w+</h3>.*?<p>(.*?)</p>', text, re.S)
        if functions:
            name, told = at(functions, 0.5)
            result.ask("lookup", f"What does {name} do?", [name, plain(told)[:40]])
        yield result


def asked(result, questions, text):
    for type_, question, *facts in questions:
        for fact in facts:
            for part in fact:
                if part not in text:
                    raise ValueError(f"{result.name}: '{part}' is not there")
        result.ask(type_, question, *facts)
    return result


def plain(text):
    """Removes tags, backticks and repeated whitespace, as the comparison of facts does."""
    text = re.sub(r"<(style|script).*?</\1>", " ", text, flags=re.S)
    if re.search(r"</\w+>", text):
        text = html.unescape(re.sub(r"</?\w[^>]*>", "", text))
    return re.sub(r"\s+", " ", text.replace("`", "")).strip()


ALL = [markdown, pages]
