//! Runs every command in the shell blocks of README.md and docs/, page by page and in order, as a reader would.
//! Commands that cannot run here are listed with the test that covers them.

use std::{fs, os::unix::fs::symlink, process::Command};

use super::{Fence, all_fences};
use crate::support::{Place, Ran, binary, place::copy_folder, repository};

/// Commands that are not run: page, start of the command, and reason.
const NOT_RUN: &[(&str, &str, &str)] = &[
    ("README.md", "cargo xtask gates", "builds for minutes"),
    ("README.md", "cargo xtask run #", "serves until it is stopped; the packages and clients do so too"),
    ("README.md", "cargo xtask test", "is what runs this"),
    ("README.md", "cargo install", "builds for minutes"),
    ("README.md", "gatehouse servers import", "reads files of clients: tests/it/servers_config.rs"),
    ("README.md", "claude mcp add", "needs the client"),
    ("README.md", "python3 -m venv", "installs packages: tests/it/languages/python.rs"),
    ("README.md", "gatehouse gates build", "builds for minutes: tests/it/languages.rs"),
    ("README.md", "gatehouse call convert", "calls a gate that was built: tests/it/languages.rs"),
    ("docs/getting-started.md", "cargo xtask gates", "builds for minutes"),
    ("docs/getting-started.md", "cargo install", "builds for minutes"),
    (
        "docs/start-with-servers.md",
        "gatehouse servers import",
        "reads files of clients: tests/it/servers_config.rs",
    ),
    ("docs/start-with-servers.md", "gatehouse tools call", "needs a server: tests/it/servers.rs"),
    ("docs/start-with-servers.md", "gatehouse tools metrics files", "needs a server: tests/it/servers.rs"),
    ("docs/start-with-servers.md", "claude mcp", "needs the client"),
    ("docs/start-with-documents.md", "claude mcp add", "needs the client"),
    ("docs/start-with-tools.md", "python3 -m venv", "installs packages: tests/it/languages/python.rs"),
    ("docs/start-with-tools.md", "gatehouse gates build", "builds for minutes: tests/it/languages.rs"),
    (
        "docs/start-with-tools.md",
        "gatehouse gates check",
        "checks a gate that was built: tests/it/languages.rs",
    ),
    (
        "docs/start-with-tools.md",
        "gatehouse call convert",
        "calls a gate that was built: tests/it/languages.rs",
    ),
    ("docs/start-with-tools.md", "gatehouse gates dev", "serves until it is stopped: tests/it/reload.rs"),
    ("docs/start-with-tools.md", "claude mcp add", "needs the client"),
    ("docs/clients.md", "claude mcp", "needs the client"),
    ("docs/clients.md", "codex mcp", "needs the client"),
    ("docs/clients.md", "gemini mcp", "needs the client"),
    ("docs/clients.md", "gatehouse serve", "serves until it is stopped: tests/it/http.rs"),
    ("docs/clients.md", "curl", "needs a host on a port of its own: tests/it/http.rs"),
    ("docs/one-server.md", "gatehouse servers import", "reads files of clients: tests/it/servers_config.rs"),
    ("docs/one-server.md", "claude mcp", "needs the client"),
    (
        "docs/backup.md",
        "gatehouse restore ~/gatehouse.tar #",
        "needs an empty data directory: tests/it/backup.rs",
    ),
    ("docs/operating.md", "GATEHOUSE_TOKEN=", "serves until it is stopped: tests/it/http.rs"),
    ("docs/operating.md", "gatehouse status --watch", "needs a terminal: tests/it/watching.rs"),
    ("docs/benchmarks.md", "cargo xtask bench", "measures, for minutes"),
    ("docs/hardening.md", "gatehouse serve --http", "serves until it is stopped: tests/it/http.rs"),
    ("docs/hardening.md", "GATEHOUSE_TOKEN=", "serves until it is stopped: tests/it/http.rs"),
    ("docs/operating.md", "gatehouse audit", "needs an audit: tests/it/audit.rs"),
    ("docs/team.md", "gatehouse serve", "serves until it is stopped: tests/it/team.rs"),
    ("docs/team.md", "claude mcp add", "needs the client"),
    ("docs/team.md", "gatehouse explain", "needs access rules: tests/it/team.rs"),
    ("docs/postgresql.md", "", "needs a server: host/stores/tests/it/engines/postgres"),
    (
        "docs/upgrading.md",
        "gatehouse restore ~/gatehouse.tar",
        "needs an older program: tests/it/upgrading.rs",
    ),
    ("docs/servers.md", "gatehouse servers add notes", "needs a server: tests/it/servers/effects.rs"),
    ("docs/servers.md", "gatehouse servers review notes", "needs a server: tests/it/servers/effects.rs"),
    ("docs/coming-from.md", "gatehouse servers import", "reads files of clients: tests/it/servers_config.rs"),
    ("docs/write-a-gate.md", "gatehouse gates new", "builds for minutes: tests/it/languages.rs"),
    ("docs/write-a-gate.md", "gatehouse gates build", "builds for minutes: tests/it/languages.rs"),
    ("docs/write-a-gate.md", "gatehouse gates check", "checks a gate that was built: tests/it/languages.rs"),
    ("docs/write-a-gate.md", "gatehouse gates dev", "serves until it is stopped: tests/it/reload.rs"),
    ("docs/write-a-gate.md", "gatehouse gates push", "needs a registry: tests/it/registry.rs"),
    (
        "docs/write-a-gate.md",
        "python3 -m unittest",
        "tests a gate that was made: tests/it/languages/python.rs",
    ),
    ("docs/write-a-gate.md", "cd weather", "installs packages: tests/it/languages/python.rs"),
    ("docs/write-a-gate.md", "gatehouse call convert", "calls a gate that was built: tests/it/languages.rs"),
    (
        "docs/gate-reference.md",
        "gatehouse call convert",
        "calls a gate that was built: tests/it/languages.rs",
    ),
    (
        "docs/debugging-gates.md",
        "gatehouse call convert",
        "calls a gate that was built: tests/it/languages.rs",
    ),
    (
        "docs/debugging-gates.md",
        "gatehouse gates check",
        "checks a gate that was built: tests/it/languages.rs",
    ),
    ("docs/debugging-gates.md", "gatehouse gates dev", "serves until it is stopped: tests/it/reload.rs"),
];

/// Returns the commands of a block without prompts, with continued lines joined.
fn commands(fence: &Fence) -> Vec<String> {
    let joined = fence.text.replace("\\\n", " ");
    let mut commands: Vec<String> = Vec::new();
    for line in joined.lines() {
        let prompted = line.strip_prefix("$ ");
        let open = commands.last().is_some_and(|last| last.matches('\'').count() % 2 == 1);
        match (fence.info.as_str(), prompted) {
            _ if open => {
                let last = commands.last_mut().expect("an open one");
                last.push('\n');
                last.push_str(line);
            }
            (_, Some(command)) => commands.push(command.to_owned()),
            ("console", None) => {}
            _ if line.trim().is_empty() || line.trim_start().starts_with('#') => {}
            _ => commands.push(line.trim().to_owned()),
        }
    }
    commands
}

/// Creates a reader's machine: a home with the files that the pages mention, and the two programs that they call.
fn machine() -> Place {
    let place = Place::shipped();
    place.sample_wiki();
    copy_folder(&repository().join("docs"), &place.path("docs"));
    copy_folder(&repository().join("docs/sample-wiki"), &place.path("src/tokio-1.54.1"));
    copy_folder(&repository().join("docs/sample-wiki"), &place.path("src/handbook"));
    fs::create_dir(place.path("my-project")).expect("a folder");
    fs::create_dir(place.path("bin")).expect("a folder");
    symlink(binary(), place.path("bin/gatehouse")).expect("a link");
    // `cargo xtask run -- …` runs the same binary, so no build is needed.
    let cargo = "#!/bin/sh\n[ \"$1 $2 $3\" = \"xtask run --\" ] || exit 97\nshift 3\nexec gatehouse \"$@\"\n";
    let cargo = place.write("bin/cargo", cargo);
    fs::set_permissions(cargo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    assert_eq!(place.run(&["kg", "index", "docs/sample-wiki"]).code(), 0);
    place
}

fn run(place: &Place, script: &str) -> Ran {
    let path = std::env::var("PATH").expect("a path");
    let mut command = Command::new("sh");
    command
        .args(["-e", "-c", script])
        .current_dir(place.path(""))
        .env_clear()
        .env("HOME", place.path(""))
        .env("PATH", format!("{}:{path}", place.path("bin").display()))
        .env("GATEHOUSE_STATE", place.path("state"))
        .env("GATEHOUSE_CONFIG", place.path("presets.toml"))
        .stdin(std::process::Stdio::null());
    Ran(command.output().expect("a shell"))
}

#[test]
fn every_command_of_the_docs_works_as_it_is_written() {
    let mut used = vec![false; NOT_RUN.len()];
    let mut place: Option<(String, Place)> = None;
    let mut failed = Vec::new();
    let mut done = 0;
    for fence in all_fences().iter().filter(|one| ["sh", "bash", "console"].contains(&one.info.as_str())) {
        let page = fence.place.split(':').next().expect("a page").to_owned();
        let mut script = String::new();
        for command in commands(fence) {
            let shown = command.split_whitespace().collect::<Vec<_>>().join(" ");
            let listed = NOT_RUN.iter().position(|(of, begins, _)| *of == page && shown.starts_with(begins));
            match listed {
                Some(one) => used[one] = true,
                None => script.push_str(&format!("echo 'at: {}' >&2\n{command}\n", shown.replace('\'', "’"))),
            }
        }
        if script.is_empty() {
            continue;
        }
        // Each page starts on a new machine.
        if place.as_ref().is_none_or(|(of, _)| *of != page) {
            place = Some((page.clone(), machine()));
        }
        let ran = run(&place.as_ref().expect("a machine").1, &script);
        if ran.code() != 0 {
            failed.push(format!("{}: {}\n{}", fence.place, ran.stdout(), ran.stderr()));
        }
        done += script.matches("echo 'at: ").count();
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    let idle: Vec<_> = NOT_RUN.iter().zip(used).filter(|(_, used)| !used).map(|(one, _)| one).collect();
    assert!(idle.is_empty(), "no page has these any more: {idle:?}");
    assert!(done > 20, "{done}");
}
