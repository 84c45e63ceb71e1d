//! Runs every command in the shell blocks of README.md and docs/ as a reader would: page by page, in order, in one shell,
//! with real clients and servers. What a `console` block shows is compared with what its commands print.

mod home;
mod steps;

use std::fmt::Write as _;

use regex::Regex;

use self::home::ReaderHome;
use super::{Fence, all_fences};

/// Commands that are not run: the start of the command, and the reason.
const NOT_RUN: [(&str, &str); 12] = [
    ("cargo xtask gates", "builds for minutes"),
    ("cargo install", "builds for minutes"),
    ("cargo xtask run #", "builds for minutes; packaging/tests serves with what it builds"),
    ("cargo xtask test", "is what runs this"),
    ("cargo xtask bench", "measures for minutes"),
    ("gatehouse gates dev", "serves until it is stopped: languages/dev.rs"),
    ("gatehouse gates push", "needs a registry: registry.rs"),
    ("gatehouse approve", "asks at a terminal: asking/operator.rs"),
    ("gatehouse dashboard", "serves until it is stopped: dashboard.rs"),
    ("gatehouse calls --follow", "prints until it is stopped: calls.rs"),
    ("gatehouse status --watch", "needs a terminal: watching.rs"),
    ("createuser --pwprompt", "asks for a password on a terminal; the next commands use the user"),
];

struct DocumentedCommand {
    text: String,
    /// Output that the page shows. `None` if it shows nothing.
    output: Option<String>,
    /// Page and line of the block.
    place: String,
}

/// Splits a block into commands without prompts, each with the output below it.
fn commands(fence: &Fence) -> Vec<DocumentedCommand> {
    let mut commands: Vec<DocumentedCommand> = Vec::new();
    let mut is_open = false;
    for line in fence.text.lines() {
        let prompted = line.strip_prefix("$ ");
        match (fence.info.as_str(), prompted) {
            _ if is_open => {
                let last = &mut commands.last_mut().expect("an open command").text;
                last.push('\n');
                last.push_str(line);
            }
            ("console", None) => {
                let last = commands.last_mut().expect("output follows a command");
                let output = last.output.get_or_insert_default();
                output.push_str(line);
                output.push('\n');
            }
            _ if line.trim().is_empty() || line.trim_start().starts_with('#') => continue,
            _ => {
                let text = prompted.unwrap_or(line).to_owned();
                commands.push(DocumentedCommand { text, output: None, place: fence.place.clone() });
            }
        }
        is_open = commands.last().is_some_and(|last| {
            last.output.is_none() && (last.text.ends_with('\\') || last.text.matches('\'').count() % 2 == 1)
        });
    }
    commands
}

fn page_commands(page: &str) -> Vec<DocumentedCommand> {
    let fences = all_fences()
        .into_iter()
        .filter(|fence| fence.place.rsplit_once(':').is_some_and(|(of, _)| of == page));
    let shell = fences.filter(|fence| ["sh", "bash", "console"].contains(&fence.info.as_str()));
    shell.flat_map(|fence| commands(&fence)).collect()
}

/// Replaces times, sizes and digests by words, and runs of spaces by one, so that both texts can be compared.
fn normalized(text: &str) -> String {
    let mut text = text.to_owned();
    for (pattern, replacement) in [
        (r"\b\d+(\.\d+)? ?(ms|µs|s|min|m|h|d)\b", "TIME"),
        (r"\b\d{4}-\d\d-\d\d\b", "DATE"),
        (r"\b[0-9a-f]{12,64}\b", "DIGEST"),
        (r"\b[0-9a-f]{4}…", "DIGEST"),
        (r"\b\d+ bytes\b", "SIZE"),
        (r"\d{4}-\d{2}-\d{2}T", "DATE T"),
        (r"waiting for [^\n]* so far; Ctrl-C stops waiting\n", ""),
        (r"·*[█▇▆▅▄▃▂▁]", "DAYS"),
        // Long lines are wrapped, with spaces at the start of each further line.
        (r"\n +", " "),
        (r"[ \t]+", " "),
        (r" ?\n", "\n"),
    ] {
        text = Regex::new(pattern).expect("a pattern").replace_all(&text, replacement).into_owned();
    }
    text.trim().to_owned()
}

/// Returns true if the output is what the page shows. `…` stands for any text.
fn matches(shown: &str, output: &str) -> bool {
    let parts: Vec<String> = normalized(shown).split('…').map(|part| regex::escape(part.trim())).collect();
    let pattern = format!("(?s)^{}$", parts.join(".*"));
    Regex::new(&pattern).expect("a pattern").is_match(&normalized(output))
}

/// Runs the commands of a page and compares what they print.
fn check_page(page: &str) {
    let Some(mut home) = ReaderHome::create(page) else { return };
    let commands: Vec<DocumentedCommand> =
        page_commands(page).into_iter().filter(|command| exemption(&command.text).is_none()).collect();
    let texts: Vec<&str> = commands.iter().map(|command| command.text.as_str()).collect();
    let mut problems = String::new();
    for (command, (status, output)) in commands.iter().zip(home.run(&texts)) {
        let shown = command.output.as_deref();
        let may_fail = shown.is_some_and(|shown| shown.lines().any(|line| line.starts_with("error: ")));
        if shown.is_some_and(|shown| !matches(shown, &output)) || (status == 0) == may_fail {
            let DocumentedCommand { text, place, .. } = command;
            writeln!(problems, "\n{place}\n$ {text}\n{output}\n(exit status {status})").expect("written");
        }
    }
    assert!(problems.is_empty(), "the page shows something else than these commands print:{problems}");
}

fn exemption(command: &str) -> Option<usize> {
    let words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    NOT_RUN.iter().position(|(start, _)| words.starts_with(start))
}

macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test] fn $name() { check_page($page); })*
    };
}

pages! {
    readme: "README.md",
    backup: "docs/backup.md",
    clients: "docs/clients.md",
    coming_from: "docs/coming-from.md",
    company_proxy: "docs/company-proxy.md",
    dashboard: "docs/dashboard.md",
    debugging_gates: "docs/debugging-gates.md",
    documents: "docs/documents.md",
    gate_reference: "docs/gate-reference.md",
    getting_started: "docs/getting-started.md",
    hardening: "docs/hardening.md",
    knowledge: "docs/knowledge.md",
    one_server: "docs/one-server.md",
    operating: "docs/operating.md",
    performance: "docs/performance.md",
    postgresql: "docs/postgresql.md",
    presets: "docs/presets.md",
    proxy: "docs/proxy.md",
    security: "docs/security.md",
    servers: "docs/servers.md",
    start_with_documents: "docs/start-with-documents.md",
    start_with_servers: "docs/start-with-servers.md",
    start_with_tools: "docs/start-with-tools.md",
    team: "docs/team.md",
    team_presets: "docs/team-presets.md",
    telemetry: "docs/telemetry.md",
    troubleshooting: "docs/troubleshooting.md",
    upgrading: "docs/upgrading.md",
    write_a_gate: "docs/write-a-gate.md",
}

#[test]
fn every_page_with_commands_is_run_and_every_exemption_is_used() {
    let mut is_used = [false; NOT_RUN.len()];
    for fence in all_fences() {
        let (page, _) = fence.place.rsplit_once(':').expect("a line");
        for command in page_commands(page) {
            match exemption(&command.text) {
                Some(index) => is_used[index] = true,
                None => assert!(PAGES.contains(&page), "{}: add the page to PAGES", fence.place),
            }
        }
    }
    let unused: Vec<_> = NOT_RUN.iter().zip(is_used).filter(|(_, is_used)| !is_used).collect();
    assert!(unused.is_empty(), "no page has these any more: {unused:?}");
}

#[test]
fn output_is_compared_with_gaps() {
    assert!(matches("took 3 ms: …\nend", "took 21 ms: a\nb\nend\n"));
    assert!(!matches("28 added", "29 added") && !matches("one\n", "one\ntwo\n"));
}
