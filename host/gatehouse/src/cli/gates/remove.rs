//! `gatehouse gates remove`: removes a gate from `presets.toml` and deletes its file, if `gates add` made that file or
//! it is in a gate directory. Other files stay.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use gatehouse_core::names::did_you_mean;
use serde_json::json;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, confirm, install::Installer};
use crate::{
    built_in,
    compose::GateRegistry,
    config::{Env, edit},
    out,
};

#[derive(Args)]
pub(in crate::cli) struct RemoveGateArgs {
    /// Name of the gate
    gate: String,
    /// Remove without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON; asks no question
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &RemoveGateArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let installer = Installer::open(global, env)?;
    let name = &arguments.gate;
    let (change, taken) = edit::remove_gate(&installer.text, name, env)?;
    let file = file_of(&installer, name);
    if taken.is_empty() && file.is_none() {
        return Err(CommandError::usage(not_found_message(&installer, name)));
    }
    let presets = installer.text.name();
    if !arguments.json {
        taken.iter().for_each(|taken| out::line(format!("removes      {taken} from {presets}")));
        if let Some(file) = &file {
            out::line(format!("deletes      {}", file.display()));
        } else if let Some(stays) = remaining_file(&installer, name) {
            out::line(format!("leaves       {}", stays.display()));
        }
    }
    if !confirm(arguments.yes, arguments.json, "Remove it? [y/N] ").await? {
        bail!("gate '{name}' was not removed; add --yes to remove it");
    }
    // The file last: hosts need it while `presets.toml` names it.
    change.write_trusted(&installer.config)?;
    if let Some(file) = &file {
        fs::remove_file(file).map_err(|error| {
            CommandError::failed(format!("{} cannot be deleted: {error}", file.display()))
        })?;
    }
    let report = json!({"name": name, "taken_out": taken, "deleted": file});
    OutputFormat { json: arguments.json }.print(&report, || out::line(format!("removed gate '{name}'")));
    Ok(())
}

/// Returns the file to delete: a component from a registry that no other gate uses, or a file in a gate directory.
fn file_of(installer: &Installer<'_>, name: &str) -> Option<PathBuf> {
    let gates = &installer.config.gates;
    let named = gates.get(name).and_then(|gate| gate.component.clone());
    let shared =
        gates.iter().any(|(other, gate)| other != name && named.is_some() && gate.component == named);
    let from_registry = gates.get(name).is_some_and(|gate| gate.origin.is_some());
    let folders = installer.config.gate_folders.iter();
    let dropped = folders.map(|folder| folder.join(format!("{name}.wasm"))).find(|file| file.exists());
    let ours = match (named, dropped) {
        (Some(named), _) if from_registry => Some(named),
        (Some(named), Some(dropped)) => Some(named).filter(|named| is_same_file(named, &dropped)),
        (Some(_), None) => None,
        (None, dropped) => dropped,
    };
    ours.filter(|file| !shared && !built_in::is_built_in(file) && file.exists())
}

fn remaining_file(installer: &Installer<'_>, name: &str) -> Option<PathBuf> {
    installer.config.gates.get(name)?.component.clone().filter(|file| file.exists())
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn not_found_message(installer: &Installer<'_>, name: &str) -> String {
    let known = GateRegistry::names_in(&installer.config);
    if known.iter().any(|known| known == name) {
        return format!("gate '{name}' is built in, and no preset of {} has it", installer.text.name());
    }
    let near = did_you_mean(name, known.iter().map(String::as_str));
    format!("there is no gate '{name}'.{near} There are: {}.", known.join(", "))
}
