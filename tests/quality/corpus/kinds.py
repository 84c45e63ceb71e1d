"""Results of programs that test, deploy and run software, such as pytest, kubectl and terraform.

They are made up from fixed seeds in the layout of the real programs, so they are the same on every machine. Names and
messages contain words such as "failed" and "refused" where nothing went wrong: only a status says that something did.
"""

import json
from datetime import datetime, timedelta
from random import Random

from base import Result, spread

START = datetime(2024, 3, 1, 9, 15, 22)

SUBJECTS = "cart payment invoice shipment refund coupon customer stock login export".split()

CLAIMS = """is_saved error_is_reported failed_twice_is_retried refused_is_logged rounds_to_cents rejects_negative_amounts
    keeps_its_order is_empty_at_start accepts_unicode times_out can_be_cancelled sends_a_mail survives_a_restart
    has_no_duplicates evicted_is_loaded_again is_sorted_by_date needs_a_name is_hidden_for_guests counts_each_item_once
    fatal_flag_is_ignored has_a_currency is_archived_after_a_year can_be_split links_to_its_owner""".split()

CRATES = """libc proc-macro2 quote syn serde memchr itoa ryu bytes tokio hyper http tower tracing regex aho-corasick rand uuid
    chrono thiserror thiserror-impl anyhow log once_cell smallvec indexmap hashbrown futures-core pin-project-lite url idna
    percent-encoding base64 sha2 digest rustls ring socket2 mio slab parking_lot lock_api scopeguard""".split()

SERVICES = """api web worker mailer search-index error-tracker failed-payments-report evicted-pod-cleaner image-resizer scheduler
    gateway billing sessions audit-log""".split()


def pair(**sizes):
    """Turns a function that makes a result of one size into one that makes a result for each name, as the corpus expects."""
    def of(make):
        def results():
            for name, size in sizes.items():
                yield make(name, size, Random(f"{make.__name__} {name}"))
        results.__name__ = make.__name__
        return results
    return of


def code(random, digits):
    return f"{random.getrandbits(4 * digits):0{digits}x}"


def table(rows, gap=1):
    """Aligns columns to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "".join((" " * gap).join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


@pair(orders=64, warehouse=190)
def pytest(name, size, random):
    def rule(title, mark="="):
        return f" {title} ".center(80, mark) + "\n"
    tests = sorted(random.sample([(s, c) for s in SUBJECTS for c in CLAIMS], size))
    bad = sorted(random.sample(tests, 2 + size // 40))
    skipped = random.sample([t for t in tests if t not in bad], 1 + size // 30)
    nodes = {(s, c): f"tests/test_{s}.py::test_{s}_{c}" + "[09:15-12:30]" * (c == "times_out") for s, c in tests}
    text = rule("test session starts") + f"""platform linux -- Python 3.12.3, pytest-8.2.1, pluggy-1.5.0 -- /srv/{name}/bin/python
cachedir: .pytest_cache\nrootdir: /srv/{name}\nconfigfile: pyproject.toml\nplugins: anyio-4.4.0, cov-5.0.0
collecting ... collected {size} items\n\n"""
    for number, test in enumerate(tests, 1):
        verdict = "FAILED" if test in bad else "SKIPPED (needs a network)" if test in skipped else "PASSED"
        line = f"{nodes[test]} {verdict}"
        text += line + f" [{number * 100 // size:3}%]".rjust(79 - len(line)) + "\n"
    text += "\n" + rule("FAILURES")
    said = {}
    for s, c in bad:
        a, b, line = random.randint(100, 999), random.randint(1000, 9999), random.randint(20, 400)
        source, message = random.choice([
            (f"assert {s}.total() == {b}", f"assert {a} == {b}"), (f"row = table[{a}]", f"KeyError: {a}"),
            (f"reply = client.get('/api/{s}/{a}')", f"TimeoutError: no reply from localhost:{b} in 30 s"),
            ("body = json.loads(reply)", f"json.decoder.JSONDecodeError: Expecting value: line {a} column 1 (char {b})")])
        said[s, c] = message
        kind = "AssertionError" if source.startswith("assert") else message.split(":")[0].split(".")[-1]
        text += rule(nodes[s, c].split("::")[1], "_") + f"""
    def test_{s}_{c}():
        # Setup
        {s} = make_{s}(items={a % 7 + 1})
>       {source}
E       {message}

tests/test_{s}.py:{line}: {kind}\n""" + rule("Captured log call", "-")
        text += f"WARNING  shop.{s}:{s}.py:{line % 97} attempt 1 at {s}.py:12:30 refused, retrying\n"
    slow = random.sample(range(60, 900), 5)
    slowest = list(zip(sorted(slow, reverse=True), random.sample([nodes[t] for t in tests if t not in skipped], 5)))
    text += rule("slowest 5 durations") + "".join(f"{t / 100:.2f}s call     {node}\n" for t, node in slowest)
    text += rule("short test summary info") + "".join(f"FAILED {nodes[t]} - {said[t]}\n" for t in bad)
    passed = size - len(bad) - len(skipped)
    text += rule(f"{len(bad)} failed, {passed} passed, {len(skipped)} skipped in {sum(slow) / 80:.2f}s")
    one = bad[len(bad) // 2]
    return Result("pytest", name, text).ask(
        "count", "How many tests failed, and how many were skipped?", ["failed", len(bad)], ["skipped", len(skipped)]).ask(
        "error", f"Why did test_{'_'.join(one)} fail?", [f"test_{'_'.join(one)}", said[one]]).ask(
        "extreme", "Which test took the longest, and how long?", [slowest[0][1], f"{slowest[0][0] / 100:.2f}s"])


@pair(shop=80, ledger=220)
def cargo(name, size, random):
    text = "".join(f"   Compiling {crate} v{random.randint(0, 4)}.{random.randint(0, 30)}.{random.randint(0, 200)}\n"
                   for crate in random.sample(CRATES, len(CRATES) // 2 + size // 10))
    text += f"   Compiling {name} v0.3.0 (/srv/{name})\n"
    text += "    Finished `test` profile [unoptimized + debuginfo] target(s) in 41.37s\n"
    claims = random.sample([(s, c) for s in SUBJECTS for c in CLAIMS], size)
    shares = [("unittests src/lib.rs", name, "--lib", claims[size // 4:]),
              ("tests/limits.rs", "limits", "--test limits", claims[:size // 8]),
              ("tests/payments.rs", "payments", "--test payments", claims[size // 8:size // 4])]
    ignored, said, red = {}, {}, []
    for target, stem, flag, part in shares:
        names = sorted(f"{s}::tests::{c}" if flag == "--lib" else f"{s}_{c}" for s, c in part)
        bad = sorted(random.sample(names, 1 + len(names) // 60 if stem != "limits" else 0))
        idle = random.choice([n for n in names if n not in bad])
        ignored[idle] = f"needs a {random.choice(['printer', 'network', 'database', 'card reader'])}"
        verdicts = {n: "FAILED" if n in bad else f"ignored, {ignored[n]}" if n in ignored else "ok" for n in names}
        text += f"     Running {target} (target/debug/deps/{stem}-{code(random, 16)})\n\nrunning {len(names)} tests\n"
        text += "".join(f"test {n} ... {verdict}\n" for n, verdict in verdicts.items()) + "\n"
        for n in bad:
            a, b = random.sample(range(100, 9999), 2)
            source = f"src/{n.split('::')[0]}" if flag == "--lib" else f"tests/{stem}"
            said[n] = f"{source}.rs:{a % 700 + 9}:{b % 50 + 5}", random.choice([
                f"assertion `left == right` failed: sum of {b % 9 + 2} items\n  left: {a}\n right: {b}",
                f"called `Option::unwrap()` on a `None` value at key {a}",
                f"index out of bounds: the len is {a} but the index is {a + b}"])
        text += "failures:\n\n" * bool(bad) + "".join(
            f"---- {n} stdout ----\nretry after error: connection refused (as the test wants)\n\n"
            f"thread '{n}' panicked at {said[n][0]}:\n{said[n][1]}\n"
            f"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n" for n in bad)
        text += ("\nfailures:\n" + "".join(f"    {n}\n" for n in bad) + "\n") * bool(bad)
        text += (f"test result: {'FAILED' if bad else 'ok'}. {len(names) - len(bad) - 1} passed; {len(bad)} failed; 1 ignored; "
                 f"0 measured; 0 filtered out; finished in 0.{random.randint(11, 99)}s\n\n")
        if bad:
            text += f"error: test failed, to rerun pass `{flag}`\n"
            red.append(flag)
    text += f"   Doc-tests {name}\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; "
    text += f"0 filtered out; finished in 0.00s\n\nerror: {len(red)} targets failed:\n    `" + "`\n    `".join(red) + "`\n"
    one, idle = list(said)[len(said) // 2], list(ignored)[0]
    return Result("cargo", name, text).ask("distinct", "Which tests failed?", *list(said)[:5]).ask(
        "error", f"Where did {one} panic, and with what message?", [one, said[one][0], said[one][1].split("\n")[0]]).ask(
        "lookup", f"Why was {idle} not run?", [idle, ignored[idle]])


@pair(router=16, broker=52)
def gotest(name, size, random):
    package, clock, lines = f"example.org/shop/{name}", START, []

    def event(action, **more):
        nonlocal clock
        clock += timedelta(milliseconds=random.randint(1, 40))
        time = clock.isoformat(timespec="milliseconds") + "Z"
        lines.append(json.dumps({"Time": time, "Action": action, "Package": package, **more}, separators=(",", ":")))
    event("start")
    tests = random.sample([(s, c) for s in SUBJECTS for c in CLAIMS], size)
    bad, times, said = random.sample(tests, 2 + size // 25), random.sample(range(1, 400, 2), size), {}
    for (s, c), hundredths in zip(tests, times):
        test = "Test" + "".join(word.title() for word in f"{s}_{c}".split("_"))
        verdict, took = "fail" if (s, c) in bad else "pass", hundredths / 100
        event("run", Test=test)
        event("output", Test=test, Output=f"=== RUN   {test}\n")
        if verdict == "fail":
            said[test] = f"{s}.{random.choice(['Total', 'Len', 'Sum'])}() = {hundredths}, want {hundredths + 7}"
            event("output", Test=test, Output=f"    {s}_test.go:{random.randint(20, 300)}: {said[test]}\n")
        elif random.random() < 0.4:
            refused = "retry after error: dial tcp 10.0.0.7:5672: connection refused"
            event("output", Test=test, Output=f"    {s}_test.go:12:30: {refused}\n")
        clock += timedelta(seconds=took)
        event("output", Test=test, Output=f"--- {verdict.upper()}: {test} ({took:.2f}s)\n")
        event(verdict, Test=test, Elapsed=took)
    event("output", Output="FAIL\n")
    event("output", Output=f"FAIL\t{package}\t{sum(times) / 100:.3f}s\n")
    event("fail", Elapsed=sum(times) / 100)
    s, c = tests[times.index(max(times))]
    slowest, one = "Test" + "".join(word.title() for word in f"{s}_{c}".split("_")), list(said)[-1]
    return Result("gotest", name, "\n".join(lines) + "\n").ask(
        "distinct", "Which tests failed?", *said, keys=["Action", "Test"]).ask(
        "extreme", "Which test took the longest, and how many seconds?", [slowest, max(times) / 100],
        keys=["Elapsed", "Test"]).ask(
        "error", f"What is wrong in {one}?", [said[one]], keys=["Output", "Test"])


@pair(frontend=24, monorepo=80)
def audit(name, size, random):
    first = "json tiny fast deep path stream xml http url color critical error fail".split()
    packages = random.sample([f"{a}-{b}{c}" for a in first for b in "merge parse glob loader cookie proxy css".split()
                              for c in ("", "-js")], 2 * size)
    text, severities, fixes, stuck = "# npm audit report\n\n", [], {}, []
    for package, other in zip(sorted(packages[:size]), packages[size:]):
        severity = random.choices(["low", "moderate", "high", "critical"], [4, 5, 4, 1])[0]
        title = random.choice(["Prototype Pollution in {}", "Regular Expression Denial of Service in {}",
                               "Command Injection in {}", "{} vulnerable to Path Traversal", "{} does not escape error messages",
                               "{} leaks headers if a redirect is refused", "Critical CSS of {} may be evicted"]).format(package)
        new = f"{random.randint(2, 9)}.{random.randint(0, 20)}.{random.randint(0, 20)}"
        advisory = "-".join("".join(random.choices("23456789cfghjmpqrvwx", k=4)) for _ in range(3))
        text += f"{package}  <{new}\n" + f"Severity: {severity}\n" * (severity != "low")
        text += f"{title} - https://github.com/advisories/GHSA-{advisory}\n"
        way = random.choices(["fix", "force", "none"], [6, 4, 1])[0]
        if way == "force":
            fixes[package] = f"{package}@{new}"
            text += f"fix available via `npm audit fix --force`\nWill install {package}@{new}, which is a breaking change\n"
        elif way == "fix":
            text += "fix available via `npm audit fix`\n"
        else:
            stuck.append(package)
            text += "No fix available\n"
        text += f"node_modules/{package}\n"
        depends = random.random() < 0.4
        if depends:
            text += f"  {other}  *\n  Depends on vulnerable versions of {package}\n  node_modules/{other}\n"
        text += "\n"
        severities += [severity] * (1 + depends)
    found = [f"{severities.count(s)} {s}" for s in ("low", "moderate", "high", "critical") if s in severities]
    text += f"{len(severities)} vulnerabilities ({', '.join(found)})\n\nTo address issues that do not require attention, run:\n"
    text += "  npm audit fix\n\nTo address all issues possible (including breaking changes), run:\n  npm audit fix --force\n\n"
    text += "Some issues need review, and may require choosing\na different dependency.\n"
    one = spread(fixes, 3)[1]
    return Result("audit", name, text).ask("count", "How many critical problems are there, and how many of all kinds?",
                                           [severities.count("critical"), "critical"], [len(severities), "vulnerabilities"]).ask(
        "lookup", f"Which version of {one} do I have to install to be safe?", fixes[one]).ask(
        "distinct", "For which packages is there no fix yet?", *[[package, "No fix available"] for package in stuck[:5]])


@pair(payments=4, backend=12)
def describe(name, size, random):
    text, restarts = "", [3, 0, 1, 0, 0, 2, 0, 5] + [0] * size
    states = {"sessions": "waiting", "billing": "killed"}
    apps = list(states) + random.sample([s for s in SERVICES if s not in states], size - 2)
    random.shuffle(apps)
    nodes, pods, stamp = {}, {}, START.strftime("%a, %d %b %Y %H:%M:%S +0100")
    for number, app in enumerate(apps):
        digest = code(random, 9)
        pod = pods[app] = f"{app}-{digest}-{''.join(random.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}"
        state, key, address = states.get(app), code(random, 5), f"10.42.{random.randint(0, 3)}.{random.randint(2, 250)}"
        nodes[app] = node = f"node-{random.randint(1, 5)}"
        again = restarts[number] if state != "waiting" else 17 + size
        why = {"waiting": "Waiting\n      Reason:       CrashLoopBackOff"}.get(state, f"Running\n      Started:      {stamp}")
        last = {"waiting": "Error\n      Exit Code:    1", "killed": "OOMKilled\n      Exit Code:    137"}.get(
            state, "Completed\n      Exit Code:    0" if again else "")
        last = f"    Last State:     Terminated\n      Reason:       {last}\n" * bool(last)
        ready = state != "waiting"
        back = f"  Warning  BackOff    {f'2m (x{again} over 58m)':20}  kubelet            "
        back += f"Back-off restarting failed container {app} in pod {pod}_{name}({code(random, 8)})\n"
        text += f"""Name:             {pod}
Namespace:        {name}
Priority:         0
Service Account:  default
Node:             {node}/10.0.1.{number + 10}
Start Time:       {stamp}
Labels:           app={app}
                  pod-template-hash={digest}
Annotations:      prometheus.io/scrape: true
Status:           Running
IP:               {address}
IPs:
  IP:           {address}
Controlled By:  ReplicaSet/{app}-{digest}
Containers:
  {app}:
    Container ID:   containerd://{code(random, 64)}
    Image:          registry.example.org/{name}/{app}:1.{random.randint(2, 30)}.{number}
    Image ID:       registry.example.org/{name}/{app}@sha256:{code(random, 64)}
    Port:           80{number + 10}/TCP
    Host Port:      0/TCP
    State:          {why}
{last}    Ready:          {ready}
    Restart Count:  {again}
    Limits:
      memory:  {random.choice([256, 512, 768])}Mi
    Environment:
      ON_FAILURE:  refused
      LOG_LEVEL:   error
    Mounts:
      /var/run/secrets/kubernetes.io/serviceaccount from kube-api-access-{key} (ro)
Conditions:
  Type              Status
  Initialized       True 
  Ready             {ready} 
  ContainersReady   {ready} 
  PodScheduled      True 
Volumes:
  kube-api-access-{key}:
    Type:                    Projected (a volume that contains injected data from multiple sources)
    TokenExpirationSeconds:  3607
    ConfigMapName:           kube-root-ca.crt
QoS Class:                   Burstable
Node-Selectors:              <none>
Tolerations:                 node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
Events:
  Type     Reason     Age                   From               Message
  ----     ------     ----                  ----               -------
  Normal   Scheduled  58m                   default-scheduler  Successfully assigned {name}/{pod} to {node}
  Normal   Pulled     58m                   kubelet            Container image "{app}:1" already present on machine
{back if state == "waiting" else ''}""" + "\n\n" * (number < size - 1)
    one = next(app for app in apps if app not in states)
    return Result("describe", name, text).ask("lookup", f"On which node does {pods[one]} run?", [pods[one], nodes[one]]).ask(
        "error", "Which pod does not come up, and what does the kubelet say about it?",
        [pods["sessions"], "Back-off restarting failed container"]).ask(
        "extreme", "Which pod was restarted most often, and how many times?", [pods["sessions"]], ["Restart Count", 17 + size])


ALL = [pytest, cargo, gotest, audit, describe]
