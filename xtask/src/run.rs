//! `cargo xtask run`: from a fresh clone to a serving gateway in one command. It uses the `quick` profile, which favors
//! compile time over speed.
//!
//! The gateway finally replaces this process, so that ctrl-c and every other signal reach it.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::build;
use crate::gates::{self, GateSelection};
use crate::process;
use crate::snapshot::QUICK;
use crate::workspace::Workspace;

const PORT: u16 = 8642;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments = arguments.strip_prefix(&["--".to_owned()]).unwrap_or(arguments);
    let serving = arguments.is_empty();
    if serving {
        check_port()?;
    }
    let workspace = Workspace::load()?;
    gates::build(&workspace, GateSelection::Shipped, &QUICK)?;
    build::build(
        "the gateway",
        process::cargo().current_dir(&workspace.root).arg("build").args(QUICK.selection),
    )?;
    let binary = workspace.binary(QUICK.folder, "gatehouse");
    if !serving {
        return become_command(at_home(Command::new(binary).args(arguments), &workspace));
    }

    let gatehouse = |arguments: &[&str]| {
        let mut command = process::command(&binary);
        at_home(command.current_dir(&workspace.root).args(arguments), &workspace);
        command
    };
    process::run(&mut gatehouse(&["kg", "index", "docs/sample-wiki"]))?;
    println!("in this checkout, `cargo xtask run --` runs the command `gatehouse`");
    let address = format!("127.0.0.1:{PORT}");
    become_command(&mut serve(&binary, &workspace, &address))
}

fn serve(binary: &std::path::Path, workspace: &Workspace, address: &str) -> Command {
    let mut command = Command::new(binary);
    command.current_dir(&workspace.root).args(["serve", "--preset", "full", "--http", address]);
    at_home(&mut command, workspace);
    command
}

/// Defaults state and configuration to the checkout.
///
/// State stays out of the user's own. The configuration must be named because the gateway does not read one from the
/// working directory.
fn at_home<'a>(command: &'a mut Command, workspace: &Workspace) -> &'a mut Command {
    if std::env::var_os("GATEHOUSE_STATE").is_none() {
        command.env("GATEHOUSE_STATE", workspace.root.join("target/state"));
    }
    if std::env::var_os("GATEHOUSE_CONFIG").is_none() {
        command.env("GATEHOUSE_CONFIG", workspace.root.join("presets.toml"));
    }
    command
}

/// Fails before the long build if the port is taken.
fn check_port() -> Result<()> {
    if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)) {
        bail!(
            "cannot listen on 127.0.0.1:{PORT} ({error}). Stop the program that uses the port, or choose another: \
            cargo xtask run -- serve --preset full --http 127.0.0.1:{}",
            PORT + 1
        );
    }
    Ok(())
}

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
