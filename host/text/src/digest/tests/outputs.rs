//! Questions about the output of commands that a digest of the default budget must answer.
//!
//! The outputs are made here in the formats of ten tools, each with what a user asks about it: first its outcome, then
//! its failures. A question is answered if one line of the digest has all the words that an answer needs.
//! Longer than 300 lines because each output is next to its questions.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use super::questions::has;
use crate::digest::digest;

/// Maximum tokens of a digest and of its frame in the gate `summarizer`, which allows a quarter of the result.
const MAX_TOKENS: u32 = 1_200;
const FRAME_TOKENS: u32 = 130;

struct CommandOutput {
    name: &'static str,
    text: String,
    /// Questions, and the words of their answers.
    questions: &'static [(&'static str, &'static [&'static str])],
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

fn pytest() -> CommandOutput {
    let mut text = String::from(
        "============================= test session starts ==============================\n\
         platform linux -- Python 3.12.3, pytest-8.2.1, pluggy-1.5.0 -- /srv/app/.venv/bin/python\n\
         cachedir: .pytest_cache\nrootdir: /srv/app\nconfigfile: pyproject.toml\n\
         plugins: cov-5.0.0, xdist-3.6.1, anyio-4.4.0\ncollecting ... collected 214 items\n\n",
    );
    let files = ["test_orders.py", "test_billing.py", "test_search.py", "test_users.py"];
    text += &lines(214, |n| {
        let result = match n {
            61 | 140 => "FAILED",
            n if n % 40 == 9 => "SKIPPED (needs a broker)",
            _ => "PASSED",
        };
        format!("tests/{}::test_case_{n} {result} [{:3}%]", files[n / 54], n * 100 / 214)
    });
    text += "\n=================================== FAILURES ===================================\n\
        _________________________________ test_case_61 _________________________________\n\n\
        client = <Client base=http://test>\n\n    def test_case_61(client):\n        order = client.post(\"/orders\", json={\"sku\": \"A-7\", \"count\": 3})\n\
        >       assert order.status_code == 201\nE       assert 409 == 201\nE        +  where 409 = <Response [409 Conflict]>.status_code\n\n\
        tests/test_billing.py:88: AssertionError\n\
        _________________________________ test_case_140 ________________________________\n\n\
        >       assert total == Decimal(\"19.99\")\nE       AssertionError: assert Decimal('20.00') == Decimal('19.99')\n\n\
        tests/test_search.py:203: AssertionError\n\
        ---------- coverage: platform linux, python 3.12.3-final-0 -----------\n\
        Name                      Stmts   Miss  Cover\n---------------------------------------------\n";
    text += &lines(40, |n| format!("app/module_{n}.py{:>16}{:>7}{:>6}%", 40 + n * 3, n % 7, 100 - n % 9));
    text += "---------------------------------------------\nTOTAL                      3940    118    97%\n\
        ============================= slowest 3 durations ==============================\n\
        12.41s call     tests/test_search.py::test_case_131\n4.02s call     tests/test_users.py::test_case_190\n\
        1.13s setup    tests/test_orders.py::test_case_0\n\
        =========================== short test summary info ============================\n\
        FAILED tests/test_billing.py::test_case_61 - assert 409 == 201\n\
        FAILED tests/test_search.py::test_case_140 - AssertionError: assert Decimal('...\n\
        ============ 2 failed, 206 passed, 6 skipped in 48.31s =============\n";
    CommandOutput {
        name: "pytest",
        text,
        questions: &[
            ("How many tests passed and failed?", &["2 failed", "206 passed"]),
            ("How long did it take?", &["48.31s"]),
            ("Which test of billing failed, and why?", &["test_billing.py::test_case_61", "409 == 201"]),
            ("Which test of search failed?", &["test_search.py::test_case_140"]),
            ("What is the total coverage?", &["TOTAL", "97%"]),
        ],
    }
}

fn cargo() -> CommandOutput {
    let mut text = String::from("    Updating crates.io index\n  Downloaded 212 crates (31.4 MB) in 6.80s\n");
    text += &lines(212, |n| format!("   Compiling crate-{} v{}.{}.{}", n * 17 % 212, n % 3, n % 11, n % 7));
    for n in 0..9 {
        let _ = write!(
            text,
            "warning: unused variable: `value_{n}`\n  --> src/part_{n}.rs:{}:9\n   |\n{:>3}|     let value_{n} = read();\n   |         ^^^^^^^ help: if this is intentional, prefix it with an underscore\n   |\n   = note: `#[warn(unused_variables)]` on by default\n\n",
            12 + n,
            12 + n
        );
    }
    text += "error[E0382]: borrow of moved value: `config`\n  --> src/server/listen.rs:147:23\n    |\n\
        139 |     let config = load()?;\n    |         ------ move occurs because `config` has type `Config`\n\
        145 |     spawn(serve(config));\n    |                 ------ value moved here\n\
        147 |     println!(\"{}\", config.port);\n    |                    ^^^^^^^^^^^ value borrowed here after move\n\n\
        error[E0425]: cannot find function `shut_down` in this scope\n  --> src/main.rs:31:5\n    |\n\
        31  |     shut_down().await;\n    |     ^^^^^^^^^ not found in this scope\n\n\
        Some errors have detailed explanations: E0382, E0425.\nFor more information about an error, try `rustc --explain E0382`.\n\
        warning: `gateway` (bin \"gateway\") generated 9 warnings\n\
        error: could not compile `gateway` (bin \"gateway\") due to 2 previous errors; 9 warnings emitted\n";
    CommandOutput {
        name: "cargo",
        text,
        questions: &[
            ("Did it compile?", &["could not compile", "gateway"]),
            ("How many errors and warnings are there?", &["2 previous errors", "9 warnings"]),
            ("What was moved and used again?", &["E0382", "borrow of moved value", "config"]),
            ("Which function is missing?", &["E0425", "shut_down"]),
            ("Where is the use after the move?", &["src/server/listen.rs:147:23"]),
        ],
    }
}

fn npm() -> CommandOutput {
    let mut text = lines(150, |n| {
        format!(
            "npm warn deprecated pack-{}@{}.{}.0: This version is no longer supported, use pack-{} instead",
            n * 7 % 151,
            n % 5,
            n % 9,
            n % 13
        )
    });
    text += &lines(60, |n| format!("> shop-{n}@1.{n}.0 postinstall\n> node scripts/build.js --part {n}\n"));
    text += "npm error code ERESOLVE\nnpm error ERESOLVE could not resolve\nnpm error\nnpm error While resolving: react-dom@17.0.2\n\
        npm error Found: react@18.3.1\nnpm error node_modules/react\nnpm error   react@\"^18.3.1\" from the root project\nnpm error\n\
        npm error Conflicting peer dependency: react@17.0.2\n\
        npm error A complete log of this run can be found in: /root/.npm/_logs/2026-03-04T10_20_30_411Z-debug-0.log\n\n\
        added 1423 packages, removed 12 packages, changed 7 packages, and audited 1436 packages in 32s\n\n\
        214 packages are looking for funding\n  run `npm fund` for details\n\n\
        9 vulnerabilities (2 low, 3 moderate, 4 high)\n\nTo address all issues, run:\n  npm audit fix --force\n";
    CommandOutput {
        name: "npm",
        text,
        questions: &[
            ("How many packages were added?", &["added 1423 packages"]),
            ("How many vulnerabilities of high severity are there?", &["9 vulnerabilities", "4 high"]),
            ("What is the code of the error?", &["ERESOLVE"]),
            ("Which peer dependency conflicts?", &["Conflicting peer dependency", "react@17.0.2"]),
            ("Where is the complete log?", &["debug-0.log"]),
        ],
    }
}

fn terraform() -> CommandOutput {
    let mut text =
        lines(60, |n| format!("aws_subnet.part[{n}]: Refreshing state... [id=subnet-0{:08x}]", n * 7919));
    text += "\nTerraform used the selected providers to generate the following execution plan. Resource actions are indicated with the following symbols:\n  + create\n  ~ update in-place\n  - destroy\n\nTerraform will perform the following actions:\n";
    for n in 0..24 {
        let _ = write!(
            text,
            "\n  # aws_instance.web[{n}] will be created\n  + resource \"aws_instance\" \"web\" {{\n      + ami                          = \"ami-0{:07x}\"\n      + arn                          = (known after apply)\n      + instance_type                = \"t3.medium\"\n      + availability_zone            = (known after apply)\n      + tags                         = {{\n          + \"Name\" = \"web-{n}\"\n        }}\n    }}\n",
            n * 31
        );
    }
    text += "\n  # aws_db_instance.orders must be replaced\n-/+ resource \"aws_db_instance\" \"orders\" {\n      ~ engine_version = \"14.9\" -> \"16.2\" # forces replacement\n    }\n\n  # aws_s3_bucket.logs will be destroyed\n  - resource \"aws_s3_bucket\" \"logs\" {\n      - bucket = \"logs-2019\" -> null\n    }\n\nPlan: 25 to add, 3 to change, 2 to destroy.\n";
    text += &lines(24, |n| {
        format!(
            "aws_instance.web[{n}]: Creating...\naws_instance.web[{n}]: Creation complete after {}s [id=i-0{:08x}]",
            30 + n,
            n * 104_729
        )
    });
    text += "\u{1b}[31m╷\u{1b}[0m\n\u{1b}[31m│ Error: creating RDS DB Instance (orders): InvalidParameterValue: Cannot upgrade from 14.9 to 16.2 directly\n│\n│   with aws_db_instance.orders,\n│   on database.tf line 41, in resource \"aws_db_instance\" \"orders\":\n│   41: resource \"aws_db_instance\" \"orders\" {\n╵\n\n\
        Apply complete! Resources: 24 added, 3 changed, 1 destroyed.\n\nOutputs:\n\nlb_dns = \"web-1718.eu-west-1.elb.amazonaws.com\"\n";
    CommandOutput {
        name: "terraform",
        text,
        questions: &[
            ("What does the plan add, change and destroy?", &["25 to add", "3 to change", "2 to destroy"]),
            ("How many resources were really added?", &["24 added"]),
            ("Which error occurred?", &["Cannot upgrade from 14.9 to 16.2"]),
            ("Which resource must be replaced?", &["aws_db_instance.orders must be replaced"]),
            ("What is the name of the load balancer?", &["web-1718"]),
        ],
    }
}

fn make() -> CommandOutput {
    let mut text = String::from("make[1]: Entering directory '/src/engine'\n");
    text += &lines(170, |n| {
        format!("  CC      obj/part_{n}.o\ncc -O2 -g -Wall -Iinclude -c src/part_{n}.c -o obj/part_{n}.o")
    });
    text += "src/part_44.c: In function 'parse_head':\nsrc/part_44.c:310:18: warning: comparison of integer expressions of different signedness: 'int' and 'size_t' [-Wsign-compare]\n  310 |     for (int i = 0; i < n; i++)\n      |                  ^\n";
    text += &lines(20, |n| format!("  LD      lib/libpart{n}.so"));
    text += "/usr/bin/ld: obj/part_161.o: in function `seal':\n/src/engine/src/part_161.c:77: undefined reference to `crypt_seal_v2'\ncollect2: error: ld returned 1 exit status\n\
        make[1]: *** [Makefile:212: bin/engine] Error 1\nmake[1]: Leaving directory '/src/engine'\nmake: *** [Makefile:18: all] Error 2\n";
    CommandOutput {
        name: "make",
        text,
        questions: &[
            ("Did make succeed?", &["Makefile:18: all", "Error 2"]),
            ("Which target failed?", &["bin/engine", "Error 1"]),
            ("What is undefined?", &["undefined reference", "crypt_seal_v2"]),
            ("Which warning did the compiler give?", &["part_44.c:310:18", "Wsign-compare"]),
        ],
    }
}

fn kubectl() -> CommandOutput {
    let mut text = String::from(
        "NAMESPACE     NAME                                READY   STATUS             RESTARTS        AGE\n",
    );
    text += &lines(140, |n| {
        let (ready, status, restarts) = match n {
            37 => ("0/1", "CrashLoopBackOff", "47 (2m ago)"),
            98 => ("0/2", "ImagePullBackOff", "0"),
            _ => ("1/1", "Running", ["0", "0", "1 (3d ago)"][n % 3]),
        };
        let name = format!(
            "{}-{:x}-{:05x}",
            ["cart", "mail", "search", "web"][n % 4],
            n * 7919 + 65_536,
            n * 104_729 % 1_048_576
        );
        format!("{:<14}{name:<36}{ready:<8}{status:<19}{restarts:<16}{}d", ["prod", "staging"][n % 2], n % 90)
    });
    CommandOutput {
        name: "kubectl",
        text,
        questions: &[
            ("How many pods are running?", &["Running", "138"]),
            ("Which pod crashes?", &["CrashLoopBackOff", "mail-5788b-b209d"]),
            ("Which pod cannot pull its image?", &["ImagePullBackOff", "search-cd77e-c9b92"]),
            ("How often did the crashing pod restart?", &["47 (2m ago)"]),
        ],
    }
}

fn continuous_integration() -> CommandOutput {
    let stamp =
        |n: usize| format!("2026-03-04T10:{:02}:{:02}.{:07}Z", n / 60 % 60, n % 60, n * 1_237 % 10_000_000);
    let mut text = String::new();
    let mut at = 0;
    let mut add = |line: &str| {
        let _ = writeln!(text, "{} {line}", stamp(at));
        at += 1;
    };
    add("Current runner version: '2.317.0'");
    add("##[group]Operating System");
    add("Ubuntu 22.04.4 LTS");
    add("##[endgroup]");
    add("##[group]Run actions/checkout@v4");
    for n in 0..60 {
        add(&format!(" * [new branch]      feature/{n} -> origin/feature/{n}"));
    }
    add("##[endgroup]");
    add("##[group]Run npm ci && npm test");
    for n in 0..150 {
        add(&format!("PASS src/parts/part_{n}.test.ts ({} ms)", 20 + n * 13 % 400));
    }
    add("FAIL src/cart/total.test.ts");
    add("  ● total › rounds half to even");
    add("    expect(received).toBe(expected) // Object.is equality");
    add("    Expected: 10.02");
    add("    Received: 10.03");
    add("Test Suites: 1 failed, 150 passed, 151 total");
    add("Tests:       1 failed, 1204 passed, 1205 total");
    add("Time:        74.512 s");
    add("##[error]Process completed with exit code 1.");
    add("Post job cleanup.");
    for n in 0..30 {
        add(&format!("[command]/usr/bin/git config --local --unset-all http.{n}.extraheader"));
    }
    add("Cleaning up orphan processes");
    CommandOutput {
        name: "CI",
        text,
        questions: &[
            ("With which code did the job end?", &["exit code 1"]),
            ("How many tests failed?", &["1 failed", "1204 passed"]),
            ("Which file failed?", &["FAIL", "src/cart/total.test.ts"]),
            ("How long did the tests take?", &["74.512 s"]),
        ],
    }
}

fn docker() -> CommandOutput {
    let mut text = String::from(
        "#0 building with \"default\" instance using docker driver\n\n#1 [internal] load build definition from Dockerfile\n#1 transferring dockerfile: 1.32kB done\n#1 DONE 0.0s\n\n",
    );
    text += "#8 [builder 4/7] RUN apt-get update && apt-get install -y build-essential\n";
    text += &lines(180, |n| {
        format!(
            "#8 {}.{:03} Get:{n} http://deb.debian.org/debian bookworm/main amd64 lib{n} amd64 {}.2-1 [{} kB]",
            n / 20,
            n * 7 % 1000,
            n % 9,
            n * 31 % 900
        )
    });
    text += "#8 DONE 21.4s\n\n#9 [builder 5/7] COPY . .\n#9 DONE 0.3s\n\n#10 [builder 6/7] RUN pip install -r requirements.txt\n\
        #10 1.912 Collecting numpy==1.26.4\n#10 3.204 ERROR: Could not find a version that satisfies the requirement torchx==9.9 (from versions: 0.1.0, 0.7.0)\n\
        #10 3.205 ERROR: No matching distribution found for torchx==9.9\n#10 ERROR: process \"/bin/sh -c pip install -r requirements.txt\" did not complete successfully: exit code: 1\n\
        ------\n > [builder 6/7] RUN pip install -r requirements.txt:\n1.912 Collecting numpy==1.26.4\n3.205 ERROR: No matching distribution found for torchx==9.9\n------\n\
        Dockerfile:17\n--------------------\n  15 |     WORKDIR /app\n  16 |     COPY . .\n  17 | >>> RUN pip install -r requirements.txt\n--------------------\n\
        ERROR: failed to solve: process \"/bin/sh -c pip install -r requirements.txt\" did not complete successfully: exit code: 1\n";
    CommandOutput {
        name: "docker",
        text,
        questions: &[
            ("Was the image built?", &["failed to solve"]),
            ("Which package was not found?", &["No matching distribution", "torchx==9.9"]),
            ("Which line of the Dockerfile failed?", &["Dockerfile:17"]),
            ("Which step failed?", &["pip install -r requirements.txt", "exit code: 1"]),
        ],
    }
}

fn go_test() -> CommandOutput {
    let mut text = String::new();
    for part in 0..12 {
        for n in 0..14 {
            if (part, n) == (7, 5) {
                text += "=== RUN   TestLease_5\n    lease_test.go:64: lease expired after 3s, want 5s\n--- FAIL: TestLease_5 (3.01s)\n";
                continue;
            }
            let _ = writeln!(
                text,
                "=== RUN   TestPart{part}_{n}\n--- PASS: TestPart{part}_{n} (0.{:02}s)",
                n * 7 % 100
            );
        }
        text += &match part {
            7 => "FAIL\nFAIL\tgithub.com/acme/store/part7\t3.418s\n".to_owned(),
            11 => "ok  \tgithub.com/acme/store/part11\t0.212s\tcoverage: 41.2% of statements\n".to_owned(),
            _ => format!(
                "PASS\nok  \tgithub.com/acme/store/part{part}\t0.{part:02}1s\tcoverage: 8{}.0% of statements\n",
                part % 10
            ),
        };
    }
    text += "FAIL\n";
    CommandOutput {
        name: "go test",
        text,
        questions: &[
            ("Which test failed?", &["--- FAIL: TestLease_5"]),
            ("Why did it fail?", &["lease expired after 3s, want 5s"]),
            ("Which package failed?", &["FAIL", "github.com/acme/store/part7"]),
            ("How many tests passed?", &["--- PASS:", "167"]),
        ],
    }
}

fn ansible() -> CommandOutput {
    let mut text =
        String::from("PLAY [web servers] *************************************************************\n");
    for task in 0..40 {
        let _ = write!(
            text,
            "\nTASK [part : step {task}] ****************************************************\n"
        );
        for host in 0..16 {
            let state = if (task + host) % 5 == 0 { "changed" } else { "ok" };
            if (task, host) == (11, 9) {
                text += "fatal: [web-9]: FAILED! => {\"changed\": false, \"msg\": \"No space left on device: '/var/lib/app'\"}\n";
            } else if (task, host) == (4, 3) {
                text += "fatal: [web-3]: UNREACHABLE! => {\"changed\": false, \"msg\": \"Failed to connect to the host via ssh: Connection timed out\", \"unreachable\": true}\n";
            } else {
                let _ = writeln!(text, "{state}: [web-{host}]");
            }
        }
    }
    text += "\nPLAY RECAP *********************************************************************\n";
    text +=
        &lines(16, |host| match host {
            9 => "web-9                      : ok=10   changed=2    unreachable=0    failed=1    skipped=0"
                .into(),
            3 => "web-3                      : ok=4    changed=1    unreachable=1    failed=0    skipped=0"
                .into(),
            _ => format!(
                "web-{host:<22} : ok=40   changed={}    unreachable=0    failed=0    skipped=0",
                2 + host % 2
            ),
        });
    CommandOutput {
        name: "ansible",
        text,
        questions: &[
            ("Which host failed?", &["web-9", "failed=1"]),
            ("Which host could not be reached?", &["web-3", "unreachable=1"]),
            ("Why did the host fail?", &["No space left on device"]),
            ("Why was the host unreachable?", &["Connection timed out"]),
        ],
    }
}

#[test]
fn questions_about_the_output_of_commands_are_answered() {
    let outputs = [
        pytest(),
        cargo(),
        npm(),
        terraform(),
        make(),
        kubectl(),
        continuous_integration(),
        docker(),
        go_test(),
        ansible(),
    ];
    let (mut asked, mut open) = (0, String::new());
    for CommandOutput { name, text, questions } in &outputs {
        let tokens = digest(text, "", u32::MAX).unwrap().tokens_in;
        assert!(tokens > 4 * MAX_TOKENS / 2, "{name} has {tokens} tokens");
        let budget = MAX_TOKENS.min(tokens / 4) - FRAME_TOKENS;
        let result = digest(text, "", budget).unwrap();
        assert!(result.tokens_out <= budget);
        for (question, words) in *questions {
            asked += 1;
            if !result.text.lines().any(|line| words.iter().all(|word| has(line, word))) {
                let _ = writeln!(open, "{name} ({}, {tokens}): {question} {words:?}", result.kind);
            }
        }
    }
    assert_eq!(asked, 44);
    assert!(open.lines().count() <= 4, "{} not answered:\n{open}", open.lines().count());
}
