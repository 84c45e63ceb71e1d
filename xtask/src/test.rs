//! `cargo xtask test`: everything that CI runs, from cheap to expensive.
//!
//! A part that is unavailable (no network, Python or Node) is skipped with a loud message, or fails if
//! `GATEHOUSE_REQUIRE_SERVICES=1`, as in CI.

mod conformance;
mod installs;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};

use crate::UsageError;
use crate::gates::{self, GateSelection};
use crate::process;
use crate::servers::TestServer;
use crate::snapshot;
use crate::tools;
use crate::workspace::Workspace;

struct Step {
    name: &'static str,
    about: &'static str,
    /// Steps that must not have failed before this one runs.
    needs: &'static [&'static str],
    run: fn(&mut Context) -> Result<StepEnd>,
}

enum StepEnd {
    Passed,
    Skipped(String),
}

const STEPS: &[Step] = &[
    Step { name: "fmt", about: "code is formatted", needs: &[], run: fmt },
    Step { name: "deny", about: "licenses, sources and versions of dependencies", needs: &[], run: deny },
    Step {
        name: "advisories",
        about: "no dependency has a known vulnerability",
        needs: &[],
        run: advisories,
    },
    Step { name: "unused", about: "no dependency is unused", needs: &[], run: unused },
    Step { name: "clippy", about: "lints, warnings are errors", needs: &[], run: clippy },
    Step { name: "gates", about: "build the gates and the test gates", needs: &[], run: build_gates },
    Step { name: "build", about: "build the gateway and the tests", needs: &[], run: build },
    Step {
        name: "clients",
        about: "real MCP clients, and a registry, for the tests",
        needs: &[],
        run: installs::clients,
    },
    Step {
        name: "languages",
        about: "toolchains for gates in other languages",
        needs: &[],
        run: installs::languages,
    },
    Step {
        name: "packages",
        about: "installers and validators for the tests",
        needs: &[],
        run: installs::packages,
    },
    Step { name: "servers", about: "database servers for the tests", needs: &[], run: servers },
    Step {
        name: "conformance",
        about: "the official conformance suites of the protocol",
        needs: &["gates", "build"],
        run: conformance::run,
    },
    Step { name: "doc", about: "examples in the documentation", needs: &[], run: doc },
    Step { name: "tests", about: "all tests", needs: &["gates", "build"], run: tests },
];

struct Context {
    workspace: Workspace,
    required: bool,
    environment: Vec<(&'static str, OsString)>,
    servers: Vec<TestServer>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str())) {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(
            UsageError(format!("unknown step '{unknown}'; the steps are {}", names.join(", "))).into()
        );
    }
    let required = std::env::var("GATEHOUSE_REQUIRE_SERVICES").is_ok_and(|value| value == "1");
    let mut context =
        Context { workspace: Workspace::load()?, required, environment: Vec::new(), servers: Vec::new() };
    let start = Instant::now();
    let mut summary = Vec::new();
    let mut failed: Vec<&str> = Vec::new();
    for step in
        STEPS.iter().filter(|step| arguments.is_empty() || arguments.iter().any(|name| name == step.name))
    {
        println!("\n── {}: {} ──", step.name, step.about);
        let begin = Instant::now();
        let result = match step.needs.iter().find(|need| failed.contains(need)) {
            Some(need) => Err(anyhow!("skipped because {need} failed")),
            None => (step.run)(&mut context),
        };
        let word = match &result {
            Ok(StepEnd::Passed) => "ok".to_owned(),
            Ok(StepEnd::Skipped(reason)) => format!("SKIPPED: {reason}"),
            Err(error) => format!("FAILED: {error:#}"),
        };
        if result.is_err() {
            eprintln!("{word}");
            failed.push(step.name);
        }
        summary.push(line(step.name, begin.elapsed(), &word));
    }
    println!("\n{}\n{}", summary.join("\n"), line("total", start.elapsed(), ""));
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn line(name: &str, time: Duration, word: &str) -> String {
    format!("{name:11} {:>8.1} s  {word}", time.as_secs_f64()).trim_end().to_owned()
}

impl Context {
    fn cargo(&self) -> Command {
        let mut command = process::cargo();
        command.current_dir(&self.workspace.root);
        command
    }

    fn run_cargo(&self, arguments: &[&str]) -> Result<StepEnd> {
        process::run(self.cargo().args(arguments)).map(|()| StepEnd::Passed)
    }

    fn cargo_tool(&self, name: &str) -> Result<Command> {
        tools::cargo_tool(&self.workspace.root, name)
    }

    /// Reports a part that is unavailable: an error in CI, otherwise a loud skip.
    fn missing(&self, what: &str, error: anyhow::Error) -> Result<StepEnd> {
        if self.required {
            return Err(error.context(format!("{what} (required: GATEHOUSE_REQUIRE_SERVICES=1)")));
        }
        eprintln!("!! {what}: {error:#}\n!! skipped; set GATEHOUSE_REQUIRE_SERVICES=1 to fail instead");
        Ok(StepEnd::Skipped(what.to_owned()))
    }

    fn set_variables<const N: usize>(&mut self, sets: [(&str, Result<Variables>); N]) -> Result<StepEnd> {
        let mut end = StepEnd::Passed;
        for (complaint, found) in sets {
            match found.and_then(check) {
                Ok(found) => {
                    for (name, path) in found {
                        println!("{name}={}", path.display());
                        self.environment.push((name, path.into()));
                    }
                }
                Err(error) => end = self.missing(complaint, error)?,
            }
        }
        Ok(end)
    }

    fn run_tool(&self, name: &str, arguments: &[&str]) -> Result<StepEnd> {
        match self.cargo_tool(name) {
            Ok(mut command) => process::run(command.args(arguments)).map(|()| StepEnd::Passed),
            Err(error) => self.missing(&format!("cargo {name} is unavailable"), error),
        }
    }
}

fn fmt(context: &mut Context) -> Result<StepEnd> {
    context.run_cargo(&["fmt", "--all", "--check"])
}

fn deny(context: &mut Context) -> Result<StepEnd> {
    context.run_tool("deny", &["--log-level", "error", "check", "bans", "licenses", "sources"])
}

fn unused(context: &mut Context) -> Result<StepEnd> {
    context.run_tool("shear", &[])
}

fn clippy(context: &mut Context) -> Result<StepEnd> {
    context.run_cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

fn build_gates(context: &mut Context) -> Result<StepEnd> {
    gates::build(&context.workspace, GateSelection::All, &snapshot::WORKSPACE)?;
    Ok(StepEnd::Passed)
}

/// Builds exactly the selection that the tests use: another one enables other features and compiles every dependency
/// again.
fn build(context: &mut Context) -> Result<StepEnd> {
    context.run_cargo(&["build", "--workspace", "--all-targets"])
}

/// Checks the dependencies against the RustSec database, which it fetches first.
///
/// Without network access, skips the step even if services are required: advisories do not depend on the sources.
fn advisories(context: &mut Context) -> Result<StepEnd> {
    let deny = |context: &Context, arguments: &[&str]| -> Result<_> {
        let mut command = context.cargo_tool("deny")?;
        command.args(arguments);
        Ok(command)
    };
    if deny(context, &["fetch", "db"]).is_ok_and(|mut fetch| !process::succeeds(&mut fetch)) {
        let reason = "cannot fetch the RustSec database";
        eprintln!("!! {reason}\n!! skipped; run `cargo deny check advisories` with access to github.com");
        return Ok(StepEnd::Skipped(reason.to_owned()));
    }
    context.run_tool("deny", &["--log-level", "error", "check", "advisories"])
}

type Variables = Vec<(&'static str, PathBuf)>;

fn servers(context: &mut Context) -> Result<StepEnd> {
    let mut end = StepEnd::Passed;
    for (complaint, started) in [
        ("PostgreSQL is unavailable", TestServer::postgres()),
        ("ArcadeDB is unavailable", TestServer::arcadedb()),
    ] {
        match started {
            Ok(server) => {
                for (name, value) in &server.environment {
                    println!("{name}={}", value.display());
                    context.environment.push((name, value.clone()));
                }
                context.servers.push(server);
            }
            Err(error) => end = context.missing(complaint, error)?,
        }
    }
    // Each test starts its own ChromaDB server.
    match tools::CHROMA.programs() {
        Ok(programs) => {
            let (name, python) = ("GATEHOUSE_TEST_CHROMA", programs.join("python").into_os_string());
            println!("{name}={}", python.display());
            context.environment.push((name, python));
        }
        Err(error) => end = context.missing("ChromaDB is unavailable", error)?,
    }
    Ok(end)
}

/// Checks that the paths exist, so that a package with an unexpected layout fails here and not in a test.
fn check(found: Variables) -> Result<Variables> {
    // The system finds a bare program name through PATH.
    for (name, path) in found.iter().filter(|(_, path)| path.is_absolute()) {
        if !path.exists() {
            bail!("{name}: {} does not exist", path.display());
        }
    }
    Ok(found)
}

fn doc(context: &mut Context) -> Result<StepEnd> {
    context.run_cargo(&["test", "--quiet", "--doc", "--workspace"])
}

fn tests(context: &mut Context) -> Result<StepEnd> {
    let mut command = match context.cargo_tool("nextest") {
        Ok(mut command) => {
            command.args(["run", "--workspace"]);
            command
        }
        Err(error) => {
            eprintln!("!! cargo nextest is unavailable: {error:#}\n!! falling back to cargo test");
            let mut command = context.cargo();
            command.args(["test", "--workspace", "--lib", "--bins", "--tests"]);
            command
        }
    };
    process::run(command.envs(context.environment.iter().map(|(name, value)| (name, value))))?;
    Ok(StepEnd::Passed)
}
