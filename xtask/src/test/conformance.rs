//! The official conformance suites, run against the built gateway over HTTP, and with the gateway as the client of the
//! suite's own servers. `tests/conformance` lists the expected failures with reasons. Any other failure is an error, and
//! so is a listed check that passes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::{Context, StepEnd};
use crate::{gates, process, servers::TestServer, tools};

/// Longest startup of the host, which compiles a gate first.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Longest run of a suite; about 10 s is usual.
const SUITE_TIMEOUT: Duration = Duration::from_secs(300);

/// Longest run of a client in milliseconds. One of them waits for all others.
const CLIENT_TIMEOUT: &str = "120000";

/// Role of the gateway in a suite.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Server,
    Client,
}

struct SuiteRun {
    role: Role,
    about: &'static str,
    suite: fn() -> Result<PathBuf>,
    arguments: &'static [&'static str],
    expected: &'static str,
}

const RUNS: [SuiteRun; 12] = [
    SuiteRun {
        role: Role::Server,
        about: "suite 0.1, all versions up to 2025-11-25",
        suite: first_suite,
        arguments: &["--suite", "all"],
        expected: "expected-failures-2025.yml",
    },
    SuiteRun {
        role: Role::Server,
        about: "suite 0.2, requirements of 2025-11-25",
        suite: second_suite,
        arguments: &["--requirements", "2025-11-25"],
        expected: "expected-failures-2025.yml",
    },
    SuiteRun {
        role: Role::Server,
        about: "suite 0.2, requirements of 2026-07-28",
        suite: second_suite,
        arguments: &["--requirements", "2026-07-28"],
        expected: "expected-failures-2026.yml",
    },
    SuiteRun {
        role: Role::Server,
        about: "suite 0.2, extensions of servers",
        suite: second_suite,
        arguments: &["--suite", "pending"],
        expected: "expected-failures-2026.yml",
    },
    SuiteRun {
        role: Role::Client,
        about: "suite 0.2, clients of 2025-11-25",
        suite: second_suite,
        arguments: &["--requirements", "2025-11-25"],
        expected: "expected-failures-client.yml",
    },
    SuiteRun {
        role: Role::Client,
        about: "suite 0.2, clients of 2026-07-28",
        suite: second_suite,
        arguments: &["--requirements", "2026-07-28"],
        expected: "expected-failures-client.yml",
    },
    SuiteRun {
        role: Role::Client,
        about: "suite 0.2, logins of 2025-03-26",
        suite: second_suite,
        arguments: &["--suite", "backcompat"],
        expected: "expected-failures-client.yml",
    },
    SuiteRun {
        role: Role::Client,
        about: "suite 0.2, extensions of clients",
        suite: second_suite,
        arguments: &["--suite", "extensions"],
        expected: "expected-failures-client.yml",
    },
    client_skills("suite 0.2, skills that are only listed", &["--scenario", "sep-2640-client-no-prefetch"]),
    client_skills("suite 0.2, skills with a wrong digest", &["--scenario", "sep-2640-client-verify-digest"]),
    client_skills("suite 0.2, skills with a wrong size", &["--scenario", "sep-2640-client-verify-size"]),
    client_skills(
        "suite 0.2, skills with another frontmatter",
        &["--scenario", "sep-2640-client-verify-frontmatter"],
    ),
];

/// Returns the run of a scenario that no suite contains.
const fn client_skills(about: &'static str, arguments: &'static [&'static str]) -> SuiteRun {
    SuiteRun {
        role: Role::Client,
        about,
        suite: second_suite,
        arguments,
        expected: "expected-failures-client.yml",
    }
}

fn first_suite() -> Result<PathBuf> {
    Ok(tools::NODE_CLIENTS.ensure()?.join(tools::CONFORMANCE))
}

fn second_suite() -> Result<PathBuf> {
    Ok(tools::CONFORMANCE_2026.ensure()?.join(tools::CONFORMANCE))
}

pub(super) fn run(context: &mut Context) -> Result<StepEnd> {
    let install = || Ok((tools::NODE_CLIENTS.node()?, first_suite()?, second_suite()?));
    let node = match install() {
        Ok((node, ..)) => node,
        Err(error) => {
            return context
                .missing("the conformance suites are unavailable (they need npm and its registry)", error);
        }
    };
    let root = &context.workspace.root;
    let binary = context.workspace.binary("debug", "gatehouse");
    let (host, url) = start(root, &binary)?;
    let results = root.join("target/conformance");
    let mut failed = Vec::new();
    let expected = root.join("tests/conformance");
    let client = format!("{} {} {}", node.display(), expected.join("client.mjs").display(), binary.display());
    for run in &RUNS {
        let target = match run.role {
            Role::Server => ["server", "--url", url.as_str()],
            Role::Client => ["client", "--command", client.as_str()],
        };
        if !run.passes(&node, &expected, &results, target)? {
            failed.push(run.about);
        }
    }
    drop(host);
    if !failed.is_empty() {
        bail!("failed: {}; the checks are in {}", failed.join(", "), results.display());
    }
    Ok(StepEnd::Passed)
}

impl SuiteRun {
    /// Runs the suite with the first arguments `target`.
    fn passes(&self, node: &Path, expected: &Path, results: &Path, target: [&str; 3]) -> Result<bool> {
        let results = results.join(self.about.replace([' ', ','], "-"));
        // Results of earlier runs would be counted too.
        let _ = fs::remove_dir_all(&results);
        fs::create_dir_all(&results).with_context(|| format!("cannot create {}", results.display()))?;
        let log = results.join("output");
        let output = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = process::command(node);
        if self.role == Role::Server && self.arguments.contains(&"pending") {
            command.arg("--import").arg(expected.join("with-skills.mjs"));
        }
        command.arg((self.suite)()?).args(target).args(self.arguments);
        command.arg("--expected-failures").arg(expected.join(self.expected)).arg("-o").arg(&results);
        if self.role == Role::Client {
            let running = results.join("running");
            command.args(["--timeout", CLIENT_TIMEOUT]).env("GATEHOUSE_CONFORMANCE_RUNNING", running);
        }
        // Colors would end up in the log.
        command.env("NO_COLOR", "1").stdout(output.try_clone()?).stderr(output);
        let passed = ends_well(command.spawn().context("cannot start Node")?, self.about)?;
        let log_text = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        let summary =
            log_text.split_once("=== SUMMARY ===").map_or(log_text.as_str(), |(_, summary)| summary);
        if passed {
            let count = |mark: char| summary.lines().filter(|line| line.starts_with(mark)).count();
            // A single scenario has no summary.
            let (right, wrong) = (count('✓').max(1), count('✗'));
            println!("{}: {right} scenarios passed, {wrong} failed as expected", self.about);
        } else {
            eprintln!("{}:\n{summary}", self.about);
        }
        Ok(passed)
    }
}

/// Waits for a suite to exit and kills it after [`SUITE_TIMEOUT`]. Returns `true` if it succeeds.
fn ends_well(mut suite: Child, about: &str) -> Result<bool> {
    let start = Instant::now();
    loop {
        if let Some(status) = suite.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > SUITE_TIMEOUT {
            let _ = suite.kill();
            let _ = suite.wait();
            bail!("{about}: still running after {} s", SUITE_TIMEOUT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn start(root: &Path, binary: &Path) -> Result<(TestServer, String)> {
    let gate = root.join(gates::FIXTURES).join("conformance.wasm");
    if let Some(missing) = [binary, &gate].into_iter().find(|file| !file.exists()) {
        bail!("{} is missing; run `cargo xtask test gates build conformance`", missing.display());
    }
    let folder = std::env::temp_dir().join(format!("gatehouse-conformance-{}", std::process::id()));
    let presets = folder.join("presets.toml");
    let skill = "skills/field-notes";
    fs::create_dir_all(folder.join("gates"))
        .and_then(|()| fs::create_dir_all(folder.join(skill).join("references")))
        .and_then(|()| fs::copy(&gate, folder.join("gates/conformance.wasm")))
        .and_then(|_| fs::copy(root.join("tests/conformance/presets.toml"), &presets))
        .and_then(|_| {
            let files = ["SKILL.md", "references/kinds.md"].map(|file| Path::new(skill).join(file));
            let from = root.join("tests/conformance");
            files.iter().try_for_each(|file| fs::copy(from.join(file), folder.join(file)).map(drop))
        })
        .with_context(|| format!("cannot fill {}", folder.display()))?;
    let mut command = process::command(binary);
    command
        .args(["serve", "--http", "127.0.0.1:0", "--preset", "conformance"])
        .current_dir(&folder)
        .env_clear()
        .env("HOME", &folder)
        .env("GATEHOUSE_STATE", folder.join("state"))
        .env("GATEHOUSE_CONFIG", presets)
        .stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
    let stderr = child.stderr.take();
    let host = TestServer { process: child, folder, environment: Vec::new() };
    Ok((host, address(BufReader::new(stderr.context("the gateway has no log")?))?))
}

/// Returns the URL that the gateway logs. A thread drains the log to the end, because a full pipe would block the
/// gateway.
fn address(log: impl BufRead + Send + 'static) -> Result<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in log.lines().map_while(Result::ok) {
            // The receiver is gone once the address is known.
            let _ = sender.send(line);
        }
    });
    let start = Instant::now();
    let mut seen = Vec::new();
    while let Ok(line) = receiver.recv_timeout(START_TIMEOUT.saturating_sub(start.elapsed())) {
        if let Some(at) = line.find("http://") {
            return Ok(line[at..].split_whitespace().next().unwrap_or_default().to_owned());
        }
        seen.push(line);
    }
    bail!("the gateway does not serve:\n{}", seen.join("\n"))
}
