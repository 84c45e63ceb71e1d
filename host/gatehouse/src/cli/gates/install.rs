//! Installation of a gate: its file, its block in `presets.toml`, and the next steps for the user.
//!
//! `gatehouse gates remove` removes a gate from `presets.toml` and deletes its file, if `gates add` made that file or it
//! is in a gate directory. Other files stay.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use clap::Args;
use gatehouse_core::{
    capability::{Capability, Grants},
    names::{did_you_mean, quoted},
};
use gatehouse_files::{make_private, sweep, write_atomic};
use gatehouse_sandbox::{ComponentInfo, MAX_FILE};
use serde_json::json;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, confirm};
use crate::{
    built_in,
    compose::GateRegistry,
    config::{Config, Env, GateConfig, check_gate_name, edit, error::ConfigText, locate::LocatedConfig},
    out,
};

pub(super) struct Installer<'a> {
    pub(super) text: ConfigText,
    pub(super) config: Config,
    pub(super) env: &'a Env,
}

pub(super) struct NewGate {
    pub(super) name: String,
    pub(super) component: String,
    pub(super) file: PathBuf,
    pub(super) info: ComponentInfo,
    pub(super) wasm: Vec<u8>,
    /// True if the component stays at its current path.
    pub(super) in_place: bool,
}

impl<'a> Installer<'a> {
    /// Reads the `presets.toml` of a command. Fails if there is no file to write.
    pub(super) fn open(global: &GlobalArgs, env: &'a Env) -> CommandResult<Self> {
        let LocatedConfig { text, choice } = global.locate_config(env)?;
        if text.file.is_none() {
            let reason = "there is no presets.toml to write into; name one with --config FILE";
            return Err(CommandError::usage(reason));
        }
        let mut config = Config::parse(&text, env)?;
        if let Some(folder) = &global.gates {
            config.gate_folders = vec![std::path::absolute(folder).unwrap_or_else(|_| folder.clone())];
        }
        config.choice = choice;
        Ok(Self { text, config, env })
    }

    /// Returns the paths that a gate would have in the gate directories.
    pub(super) fn files_in_folders(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.config.gate_folders.iter().map(move |folder| folder.join(format!("{name}.wasm")))
    }

    pub(super) fn base(&self) -> &Path {
        self.text.file.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"))
    }

    /// Returns the name for a gate. A `derived` name, which comes from a reference, must not match another gate: grants
    /// belong to names, and the owner of a repository chooses its name. `same` recognizes the gate itself.
    pub(super) fn name(
        &self,
        given: Option<&str>,
        derived: &str,
        same: impl Fn(&GateConfig) -> bool,
    ) -> CommandResult<String> {
        let name = given.unwrap_or(derived);
        let quoted_name = quoted(name, 64);
        check_gate_name(name)
            .map_err(|reason| CommandError::usage(format!("{reason}; give one with --name")))?;
        let in_folder = self.files_in_folders(name).any(|file| built_in::is_built_in(&file) || file.exists());
        let block = self.config.gates.get(name).filter(|gate| !gate.shipped);
        if given.is_none() && (in_folder || block.is_some()) && !same(block.unwrap_or(&GateConfig::default()))
        {
            let granted = listed(&block.map(|gate| gate.settings.grants.entries()).unwrap_or_default());
            return Err(CommandError::usage(format!(
                "gate '{quoted_name}' already exists, and is granted {granted}; `--name {quoted_name}` replaces it and retains \
                the grants, another --name adds a gate"
            )));
        }
        Ok(name.to_owned())
    }

    /// Writes the file, then the block, and prints the result.
    pub(super) fn install(&self, gate: NewGate, output: OutputFormat) -> CommandResult {
        let NewGate { name, component, file, info, wasm, in_place } = gate;
        let change = edit::set_component(&self.text, &name, &component, &info.digest, self.env)?;
        let changed = change.has_changes();
        if !in_place && installed(&file, &info.digest).is_none() {
            self.store(&file, &wasm)?;
        }
        change.write_trusted(&self.config)?;
        let block = self.config.gates.get(&name).filter(|gate| !gate.shipped);
        let settings = block.map(|gate| gate.settings.clone()).unwrap_or_default();
        let old_digest = settings.sha256.filter(|old| !old.eq_ignore_ascii_case(&info.digest));
        let granted = settings.grants.entries();
        let report = json!({
            "name": name,
            "component": component,
            "sha256": info.digest,
            "replaced_sha256": old_digest,
            "file": file.display().to_string(),
            "bytes": wasm.len(),
            "asks": info.ask.capabilities,
            "imports": info.ask.others,
            "granted": granted,
            "changed": changed,
        });
        output.print(&report, || {
            out::line(match &old_digest {
                Some(old) => format!("updated gate '{name}': SHA-256 {old} -> {}", info.digest),
                None if changed => format!("installed gate '{name}'"),
                None => format!("gate '{name}' is already installed"),
            });
            out::line(format!("component    {component}"));
            out::line(format!("file         {} ({} bytes)", file.display(), wasm.len()));
            out::line(format!("sha256       {}", info.digest));
            let asks: Vec<String> = info.ask.capabilities.iter().map(Capability::to_string).collect();
            out::line(format!("asks for     {}", listed(&asks)));
            out::line(format!("imports      {}", listed(&info.ask.others)));
            out::line(format!("granted      {}", listed(&granted)));
            next_steps(&name, &info.ask.capabilities, &settings.grants);
        });
        Ok(())
    }

    pub(super) fn store(&self, file: &Path, wasm: &[u8]) -> CommandResult {
        let failed = |error: std::io::Error| {
            CommandError::failed(format!("{} cannot be written: {error}", file.display()))
        };
        let folder = file.parent().unwrap_or(Path::new("/"));
        // Only the host needs access to the data directory.
        let private = folder.starts_with(&self.config.state);
        let result = if private { make_private(folder) } else { fs::create_dir_all(folder) };
        result.map_err(failed)?;
        // Removes temporary files of commands that were killed.
        sweep(folder);
        write_atomic(file, wasm).map_err(failed)
    }
}

/// Returns the component in a file. `None` if the file is missing or has another digest.
pub(super) fn installed(file: &Path, sha256: &str) -> Option<(Vec<u8>, ComponentInfo)> {
    let wasm = read_component(file).ok()?;
    let info = ComponentInfo::read(&wasm).ok()?;
    (info.digest == sha256).then_some((wasm, info))
}

/// Reads a regular file up to one byte more than a component may have.
pub(super) fn read_component(file: &Path) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    let mut wasm = Vec::new();
    File::open(file)?.take(MAX_FILE + 1).read_to_end(&mut wasm)?;
    Ok(wasm)
}

fn next_steps(name: &str, asks: &[Capability], grants: &Grants) {
    let missing = asks.iter().copied().filter(|capability| grants.access(*capability).is_none());
    let (blocks, missing): (Vec<_>, Vec<_>) = missing.partition(|capability| capability.granted_by_block());
    for capability in blocks {
        out::line("\nTo allow a host, write in presets.toml (see docs/presets-reference.md):");
        out::line(format!("    [gates.{name}.{capability}]\n    \"api.example.com\" = {{}}"));
    }
    if !missing.is_empty() {
        let entry = |entry: String| format!("\"{entry}\"");
        let new_grants =
            grants.entries().into_iter().chain(missing.iter().map(Capability::to_string)).map(entry);
        out::line(format!("\nTo grant what it asks for, write under [gates.{name}] in presets.toml:"));
        out::line(format!("    grants = [{}]", new_grants.collect::<Vec<_>>().join(", ")));
        for capability in missing.into_iter().filter(|capability| capability.has_read_access()) {
            out::line(format!("    (\"{capability}:read\" instead of \"{capability}\" is read-only)"));
        }
    }
    out::line("\nTo show it to clients, write under a preset, such as [presets.full]:");
    out::line(format!("    gates.{name} = {{}}"));
}

pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".into() } else { names.join(", ") }
}

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

pub(super) async fn remove(arguments: &RemoveGateArgs, global: &GlobalArgs, env: &Env) -> CommandResult {
    let installer = Installer::open(global, env)?;
    let name = &arguments.gate;
    let (change, removed_keys) = edit::remove_gate(&installer.text, name, env)?;
    let file = file_of(&installer, name);
    if removed_keys.is_empty() && file.is_none() {
        return Err(CommandError::usage(not_found_message(&installer, name)));
    }
    let presets = installer.text.name();
    if !arguments.json {
        removed_keys.iter().for_each(|key| out::line(format!("removes      {key} from {presets}")));
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
        let failed = |error| format!("{} cannot be deleted: {error}", file.display());
        fs::remove_file(file).map_err(failed).map_err(CommandError::failed)?;
    }
    let report = json!({"name": name, "taken_out": removed_keys, "deleted": file.map(|file| file.display().to_string())});
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
    let dropped = installer.files_in_folders(name).find(|file| file.exists());
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
    let names = GateRegistry::names_in(&installer.config);
    if names.iter().any(|existing| existing == name) {
        return format!("gate '{name}' is built in, and no preset of {} has it", installer.text.name());
    }
    let suggestion = did_you_mean(name, names.iter().map(String::as_str));
    format!("there is no gate '{name}'.{suggestion} There are: {}.", names.join(", "))
}
