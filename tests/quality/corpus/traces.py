"""Results that are failures: stack traces in several languages, and test reports."""

import pathlib
import re
import subprocess
import tempfile
from collections import Counter

from base import Result, at

PYTHON = '''
import json, sys, traceback, time
class QuotaExceeded(RuntimeError): pass
def load(n):
    if n % 7 == 3: return json.loads("{broken %d" % n)
    if n % 11 == 5: return {}["tenant-%d" % n]
    if n == 61: raise QuotaExceeded("tenant-61 used 1042 of 1000 requests")
    return n
def transform(n): return 100 // (load(n) % 13)
def handle(n):
    try: return transform(n)
    except ZeroDivisionError as e: raise ValueError(f"job {n} cannot be scaled") from e
for n in range(%s):
    try:
        handle(n); print(f"2026-03-04 10:{n // 60:02}:{n %% 60:02} INFO worker-{n %% 4} job {n} done in {n * 37 %% 191} ms")
    except Exception:
        print(f"2026-03-04 10:{n // 60:02}:{n %% 60:02} ERROR worker-{n %% 4} job {n} failed"); traceback.print_exc(file=sys.stdout)
'''

NODE = '''
function parse(n) { return JSON.parse(n % 5 === 2 ? '{"n": ' + n + ',}' : '{"n": ' + n + '}'); }
class Pool { take(n) { if (n % 9 === 4) { throw new TypeError('connection ' + n + ' is closed'); } return parse(n); } }
async function job(n) { const pool = new Pool(); return pool.take(n).n.toFixed(n === 33 ? 200 : 2); }
(async () => { for (let n = 0; n < COUNT; n++) { try { await job(n); console.log('[worker] job ' + n + ' ok'); }
  catch (error) { console.log('[worker] job ' + n + ' failed: ' + error.stack); } } })();
'''

JAVA = '''
import java.util.*;
public class Jobs {
  static int[] table = new int[8];
  static int read(int n) { return table[n % 11]; }
  static String name(int n) { return n % 6 == 1 ? null : "job" + n; }
  static int size(int n) { try { return name(n).length() + read(n); }
    catch (NullPointerException e) { throw new IllegalStateException("job " + n + " has no name", e); } }
  public static void main(String[] a) { for (int n = 0; n < COUNT; n++) { try { size(n); System.out.println("INFO job " + n + " done"); }
    catch (RuntimeException e) { System.out.println("SEVERE job " + n); e.printStackTrace(System.out); } } }
}
'''

TESTS = '''
import unittest
class Sums(unittest.TestCase): pass
class Names(unittest.TestCase): pass
def make(n):
    def test(self):
        if n % 13 == 4: self.assertEqual(n * n, n * n + 1, f"square of {n}")
        if n == 31: raise OSError(28, "No space left on device", "/var/spool/job-31")
        if n % 17 == 9: self.assertIn("z%d" % n, {"a": n})
        if n % 10 == 7: self.skipTest("needs a network")
    return test
for n in range(%s):
    setattr(Sums if n %% 2 else Names, f"test_case_{n:03}", make(n))
unittest.main(verbosity=2)
'''


def traces():
    """Logs of failing programs with their stack traces."""
    with tempfile.TemporaryDirectory() as folder:
        for number in (40, 150, 900):
            text = output(folder, "jobs.py", PYTHON.replace("%%", "%").replace("%s", str(number)), "python3")
            yield questions(own(Result("stack trace", f"python-{number}", text)), text, r"^(\w+(?:\.\w+)*(?:Error|Exceeded)): (.*)$",
                            r" ERROR ")
        for number in (60, 400):
            text = output(folder, "jobs.js", NODE.replace("COUNT", str(number)), "node")
            yield questions(own(Result("stack trace", f"node-{number}", text)), text, r"failed: (\w+Error): (.*)$", " failed: ")
        for number in (60, 500):
            text = output(folder, "Jobs.java", JAVA.replace("COUNT", str(number)), "java")
            yield questions(own(Result("stack trace", f"java-{number}", text)), text, r"^java\.lang\.(\w+Exception): (.*)$", "^SEVERE ")
        for number in (50, 400):
            text = output(folder, "tests.py", TESTS.replace("%%", "%").replace("%s", str(number)), "python3")
            text = re.sub(r"in \d+\.\d+s", "in 0.1s", text)
            result = Result("stack trace", f"unittest-{number}", text)
            total = re.findall(r"failures=(\d+), errors=(\d+), skipped=(\d+)", text)[0]
            result.ask("count", "How many tests failed, and how many had errors?", [f"failures={total[0]}", f"errors={total[1]}"])
            result.ask("error", "Which test had an error, and which?", ["test_case_031", "No space left on device"])
            one = at(re.findall(r"^FAIL: (\w+) ", text, re.M), 0.5)
            message = re.findall(rf"^FAIL: {one} [\s\S]*?AssertionError: (.*)$", text, re.M)[0]
            result.ask("lookup", f"Why did {one} fail?", [message[:50]])
            result.ask("count", "How many tests were run?", ["Ran", number])
            yield result


def own(result):
    result.own = True
    return result


def output(folder, name, program, runner):
    path = pathlib.Path(folder) / name
    path.write_text(program)
    done = subprocess.run([runner, str(path)], capture_output=True, text=True, timeout=120)
    return (done.stdout + done.stderr).replace(folder, "/srv/jobs")


def questions(result, text, pattern, failed):
    found = re.findall(pattern, text, re.M)
    kinds = Counter(kind for kind, _ in found)
    result.ask("count", "How many jobs failed?", [len(re.findall(failed, text, re.M))])
    result.ask("distinct", "Which types of error were there?", *sorted(kinds)[:4])
    kind, n = kinds.most_common(1)[0]
    result.ask("extreme", "Which type of error was the most frequent, and how often?", [kind, n])
    kind, message = next((k, m) for k, m in found if kinds[k] == min(kinds.values()))
    result.ask("error", f"What did the {kind} say?", message[:50])
    one = at(found, 0.6)
    result.ask("lookup", f"Which error is about '{one[1][:40]}'?", [one[0], one[1][:40]])
    return result


ALL = [traces]
