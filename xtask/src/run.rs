//! `cargo xtask run`: from a fresh clone to a serving gateway, in one command. What it builds is soon there; whoever stays
//! builds with `--release`, which takes longer and makes a faster one.
//!
//! The gateway takes this process's place at the end, so that ctrl-c and every other signal reach it.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::gates::{self, GateSelection};
use crate::process;
use crate::snapshot::QUICK;
use crate::workspace::Workspace;

const PORT: u16 = 8642;
const CLIENTS: [(&str, &str); 4] =
    [("claude", "Claude Code"), ("cursor", "Cursor"), ("vscode", "VS Code"), ("codex", "Codex")];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
    let serving = arguments.is_empty();
    if serving {
        check_port()?;
    }
    let workspace = Workspace::load()?;
    gates::build(&workspace, GateSelection::Shipped, &QUICK)?;
    process::run(process::cargo().current_dir(&workspace.root).arg("build").args(QUICK.selection))?;
    let binary = workspace.binary(QUICK.folder, "gatehouse");
    if !serving {
        return become_command(at_home(Command::new(binary).args(arguments), &workspace));
    }

    let gatehouse = |arguments: &[&str]| {
        let mut command = process::command(&binary);
        at_home(command.current_dir(&workspace.root).args(arguments), &workspace);
        command
    };
    let url = format!("http://127.0.0.1:{PORT}/mcp");
    headline("The sample wiki");
    process::run(&mut gatehouse(&["kg", "index", "docs/sample-wiki"]))?;
    headline("What a client of the preset 'full' sees");
    process::run(&mut gatehouse(&["presets", "show", "full"]))?;
    headline("What each preset costs in an agent's context");
    process::run(&mut gatehouse(&["presets", "cost"]))?;
    for (client, name) in CLIENTS {
        headline(&format!("To connect {name}"));
        process::run(&mut gatehouse(&["mcp-config", "full", "--client", client, "--http", &url]))?;
    }
    headline(&format!("Serving on {url} (ctrl-c ends it)"));
    let address = format!("127.0.0.1:{PORT}");
    become_command(&mut serve(&binary, &workspace, &address))
}

fn serve(binary: &std::path::Path, workspace: &Workspace, address: &str) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(&workspace.root).args(["serve", "--preset", "full", "--http", address]);
    at_home(&mut command, workspace);
    command
}

/// Keeps the data of a tried-out checkout inside it, away from the user's own, unless the user says where; and names
/// the checkout's configuration, which would not be used for lying in the working folder.
fn at_home<'a>(command: &'a mut Command, workspace: &Workspace) -> &'a mut Command {
    if std::env::var_os("GATEHOUSE_STATE").is_none() {
        command.env("GATEHOUSE_STATE", workspace.root.join("target/state"));
    }
    if std::env::var_os("GATEHOUSE_CONFIG").is_none() {
        command.env("GATEHOUSE_CONFIG", workspace.root.join("presets.toml"));
    }
    command
}

/// Finds out before the long build that the port is somebody else's.
fn check_port() -> Result<()> {
    if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)) {
        bail!(
            "cannot listen on 127.0.0.1:{PORT} ({error}). If that is a gateway of yours, it is serving already; \
             else choose another port: cargo xtask run -- serve --preset full --http 127.0.0.1:{}",
            PORT + 1
        );
    }
    Ok(())
}

fn headline(text: &str) {
    println!("\n── {text} ──");
}

/// Puts the command in the place of this process; returns only when it cannot be started.
#[cfg(unix)]
fn become_command(command: &mut Command) -> Result<()> {
    use std::os::unix::process::CommandExt;
    let line = process::render(command);
    Err(command.exec()).with_context(|| format!("cannot start `{line}`"))
}

#[cfg(not(unix))]
fn become_command(command: &mut Command) -> Result<()> {
    process::run(command)
}
