//! `gatehouse gates dev`: builds a gate at each save, and puts it where a host serves it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use gatehouse_core::{Source, source::Listing};
use serde_json::Map;

use super::{CommandError, CommandResult, GlobalArgs, PlainError};
use crate::{
    built_in,
    compose::Composition,
    config::{Config, Env},
    control::{self, RunningHost},
    out,
    progress::ProgressTicker,
    reload::short_digest,
    scaffold::{self, GateProject, ProjectWatcher, changes},
    signals,
};

/// Interval of checks whether hosts refuse a build, or rolled it back.
const HOST_POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct Arguments {
    /// Directory of the project
    #[arg(default_value = ".")]
    dir: PathBuf,
}

/// Runs until Ctrl-C, which also ends a running build.
pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let stop = signals::shutdown_token(None);
    tokio::select! {
        done = watch(arguments, global, env) => done,
        () = stop.cancelled() => Ok(()),
    }
}

async fn watch(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let project = GateProject::find(&arguments.dir).map_err(CommandError::usage)?;
    let composition = global.compose_project(&project.folder, env)?;
    let target = target(&composition.config, &project)?;
    // Before the first build, to see every save during it.
    let config = &composition.config;
    let excluded_folders =
        [&config.state, &config.cache].into_iter().chain(&config.gate_folders).cloned().collect();
    let mut watch = ProjectWatcher::start(&project.folder, excluded_folders)?;
    out::line(format!("watching {}; each save goes to {}", project.folder.display(), target.display()));
    tokio::task::block_in_place(|| composition.gates.enable_function_cache());
    let mut hosts = HostWatcher::new(&config.state, &project.name);
    let mut previous_listing = None;
    loop {
        match build(&project, &composition, &target).await {
            Ok(BuildOutcome { seconds, placed: false, .. }) if previous_listing.is_some() => {
                out::line(format!("built in {seconds:.1} s; {} is the same as before", target.display()));
            }
            Ok(BuildOutcome { listing, seconds, compiling, version, .. }) => {
                let (target, version) = (target.display(), short_digest(&version));
                out::line(format!(
                    "built {target} in {seconds:.1} s, compiled in {compiling:.1} s: version {version}"
                ));
                print_changes(previous_listing.as_deref(), &listing);
                previous_listing = Some(listing);
            }
            Err(reason) => out::line(format!("build failed, the previous version stays: {reason}")),
        }
        let saved = {
            let mut changed = pin!(watch.next_change());
            loop {
                tokio::select! {
                    saved = &mut changed => break saved?,
                    news = hosts.next_reports() => news.into_iter().for_each(out::line),
                }
            }
        };
        out::line(format!("saved {}", saved.join(", ")));
    }
}

/// Returns the file from which hosts with this configuration serve the gate. Refuses to replace a shipped gate.
fn target(config: &Config, project: &GateProject) -> CommandResult<PathBuf> {
    let name = &project.name;
    let named = config.gates.get(name).and_then(|gate| gate.component.clone());
    if let Some(named) = named.filter(|named| !named.starts_with(&config.cache)) {
        return Ok(plain(&named));
    }
    let has_shipped = config.gate_folders.iter().any(|folder| built_in::is_folder(folder));
    if has_shipped && built_in::is_shipped(name) {
        return Err(CommandError::usage(format!(
            "'{name}' is the name of a shipped gate, which this one would replace; rename the project, or name its file with `component` under [gates.{name}]"
        )));
    }
    let gate_folder = config.own_gate_folder().filter(|folder| !folder.starts_with(&config.cache));
    let missing = "the configuration names no gate directory; write gates = [\"gates\"] under [host]";
    let folder = gate_folder.ok_or(missing).map_err(CommandError::usage)?;
    Ok(plain(&folder.join(format!("{name}.wasm"))))
}

fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

struct BuildOutcome {
    listing: Arc<Listing>,
    version: String,
    seconds: f64,
    compiling: f64,
    placed: bool,
}

/// Builds and lists the component, and then writes it to `target` if it changed.
async fn build(
    project: &GateProject,
    composition: &Composition,
    target: &Path,
) -> Result<BuildOutcome, PlainError> {
    let start = Instant::now();
    let name = &project.name;
    let component = {
        let _building = ProgressTicker::start(format!("building {name}"));
        scaffold::build(project).await?
    };
    let seconds = start.elapsed().as_secs_f64();
    let scratch =
        tempfile::tempdir().map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let staged = scratch.path().join(format!("{name}.wasm"));
    scaffold::write_if_changed(&component.bytes, &staged)?;
    let start = Instant::now();
    let gate = {
        let _compiling =
            ProgressTicker::start(format!("compiling {name}.wasm ({} bytes)", component.bytes.len()));
        composition.gates.load_granted(&staged).await?
    };
    let compiling = start.elapsed().as_secs_f64();
    let listing = gate.list(&Map::new()).await?;
    let placed = scaffold::write_if_changed(&component.bytes, target)?;
    Ok(BuildOutcome { listing, version: component.info.digest, seconds, compiling, placed })
}

fn print_changes(before: Option<&Listing>, now: &Listing) {
    let Some(before) = before else {
        let names: Vec<&str> = now.tools.iter().map(|tool| &*tool.name).collect();
        return out::line(format!("  tools: {}", names.join(", ")));
    };
    let changes = changes(before, now);
    if changes.is_empty() {
        out::line("  the tools are unchanged");
    }
    changes.iter().for_each(|change| out::line(format!("  {change}")));
}

/// Reports of running hosts about one gate.
struct HostWatcher {
    state: PathBuf,
    gate: String,
    known: BTreeMap<u32, String>,
}

impl HostWatcher {
    fn new(state: &Path, gate: &str) -> Self {
        Self { state: state.to_owned(), gate: gate.to_owned(), known: BTreeMap::new() }
    }

    async fn next_reports(&mut self) -> Vec<String> {
        loop {
            let hosts = control::running(&self.state).await.into_iter();
            let report =
                |mut host: RunningHost| Some((host.facts.pid, host.health.gates.remove(&self.gate)?));
            let now: BTreeMap<u32, String> = hosts.filter_map(report).collect();
            let news = now.iter().filter(|(process, reason)| self.known.get(process) != Some(reason));
            let lines: Vec<String> = news
                .map(|(process, reason)| format!("host of process {process}: gate '{}': {reason}", self.gate))
                .collect();
            self.known = now;
            if !lines.is_empty() {
                return lines;
            }
            tokio::time::sleep(HOST_POLL_INTERVAL).await;
        }
    }
}
