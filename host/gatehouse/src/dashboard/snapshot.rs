//! The configuration, and all tools of all gates and servers, as of the last change of their files.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::PathBuf,
    sync::Arc,
    time::SystemTime,
};

use gatehouse_core::{Effect, SourceId, hash::sha256_json, ports::ToolIndex as _, tool::ToolSpec};
use serde_json::json;
use tokio::sync::Mutex;

use super::add::TestedServer;
use crate::{
    cli::tokens,
    compose::{Composition, KnownServer},
    config::{Env, environment_file},
    global_args::GlobalArgs,
    plain_error::PlainError,
};

/// A tool, in all presets.
pub(super) struct KnownTool {
    pub(super) source: SourceId,
    pub(super) spec: Arc<ToolSpec>,
    pub(super) effect: Effect,
    /// Tokens of its definition in a list.
    pub(super) tokens: usize,
    /// Presets that list it.
    pub(super) presets: Vec<String>,
    pub(super) is_quarantined: bool,
}

/// A preset with the tools that it lists.
pub(super) struct KnownPreset {
    pub(super) name: String,
    /// Exposed name, source, effect and approval of each tool, or the reason that the preset cannot be served.
    pub(super) tools: Result<Vec<ListedTool>, String>,
    /// Sources that do not list their tools, with the reason.
    pub(super) problems: Vec<(String, String)>,
}

pub(super) struct ListedTool {
    pub(super) name: String,
    pub(super) source: SourceId,
    pub(super) tool: Arc<str>,
    pub(super) effect: Effect,
    pub(super) approval: Option<String>,
    pub(super) tokens: usize,
}

pub(super) struct Snapshot {
    pub(super) composition: Arc<Composition>,
    pub(super) tools: Vec<KnownTool>,
    pub(super) presets: Vec<KnownPreset>,
    pub(super) servers: BTreeMap<String, KnownServer>,
    /// Reason that the file is not used as it is now.
    pub(super) config_error: Option<String>,
}

/// Times of the files that a snapshot depends on.
type FileTimes = Vec<Option<SystemTime>>;

pub(super) struct SnapshotReader {
    global: GlobalArgs,
    env: Env,
    last: Mutex<Option<(FileTimes, Arc<Snapshot>)>>,
    /// Tokens by the digest of a definition.
    counts: Mutex<HashMap<String, usize>>,
    pub(super) tested: std::sync::Mutex<Option<TestedServer>>,
}

impl SnapshotReader {
    pub(super) fn new(global: GlobalArgs, env: Env) -> Self {
        Self { global, env, last: Mutex::default(), counts: Mutex::default(), tested: Default::default() }
    }

    /// Reads everything again if a file has changed.
    pub(super) async fn read(&self) -> Result<Arc<Snapshot>, PlainError> {
        let mut last = self.last.lock().await;
        if let Some((times, snapshot)) = &*last
            && *times == file_times(&snapshot.composition)
        {
            return Ok(Arc::clone(snapshot));
        }
        let (composition, config_error) = match &*last {
            None => (Arc::new(self.global.compose_without_servers(&self.env)?), None),
            Some((_, before)) => {
                // Before the files are read, so that a change meanwhile is read by the next request.
                let times = file_times(&before.composition);
                let (composition, error) = self.compose_again(&before.composition).await;
                let snapshot = Arc::new(self.take(composition, error).await?);
                *last = Some((times, Arc::clone(&snapshot)));
                return Ok(snapshot);
            }
        };
        let times = file_times(&composition);
        let snapshot = Arc::new(self.take(composition, config_error).await?);
        *last = Some((times, Arc::clone(&snapshot)));
        Ok(snapshot)
    }

    /// Returns the options that select the configuration.
    pub(super) const fn origin(&self) -> (&GlobalArgs, &Env) {
        (&self.global, &self.env)
    }

    /// Closes the stores.
    pub(super) async fn close(&self) {
        self.global.close().await;
    }

    /// Composes the file as it is now, or returns the former composition with the reason.
    async fn compose_again(&self, before: &Arc<Composition>) -> (Arc<Composition>, Option<String>) {
        let env = match Env::read() {
            Ok(env) => env,
            Err(error) => return (Arc::clone(before), Some(error.to_string())),
        };
        let config = match self.global.config(&env) {
            Ok(config) => Arc::new(config),
            Err(error) => return (Arc::clone(before), Some(error.to_string())),
        };
        before.stores.servers.follow(&config);
        let gates = before.gates.names().into_iter().collect();
        (Arc::new(before.with_config(config, &gates, Default::default()).await), None)
    }

    async fn take(
        &self,
        composition: Arc<Composition>,
        config_error: Option<String>,
    ) -> Result<Snapshot, PlainError> {
        let servers = composition.known_servers().await?;
        let mut tools = BTreeMap::<(SourceId, Arc<str>), KnownTool>::new();
        let mut counts = self.counts.lock().await;
        let mut known_tool = |source: &SourceId, spec: &Arc<ToolSpec>, effect| {
            let definition = json!([spec.name, spec.description, *spec.input_schema]);
            let count = *counts.entry(sha256_json(&definition)).or_insert_with(|| tokens(&definition));
            let (source, spec) = (source.clone(), Arc::clone(spec));
            KnownTool { source, spec, effect, tokens: count, presets: Vec::new(), is_quarantined: false }
        };
        for server in servers.values() {
            let Some(listed) = &server.listing else { continue };
            let id = listed.source.id();
            for spec in &listed.listing.tools {
                let tool = known_tool(id, spec, spec.effect);
                tools.insert((id.clone(), Arc::clone(&spec.name)), tool);
            }
        }
        let mut presets = Vec::new();
        for (name, catalog) in composition.catalogs().await {
            let catalog = match catalog {
                Ok(catalog) => catalog,
                Err(reason) => {
                    let tools = Err(reason.to_string());
                    presets.push(KnownPreset { name: name.to_owned(), tools, problems: Vec::new() });
                    continue;
                }
            };
            let mut listed = Vec::new();
            for entry in catalog.entries() {
                let key = (entry.id.source.clone(), Arc::clone(&entry.id.name));
                let tool = tools
                    .entry(key)
                    .or_insert_with(|| known_tool(&entry.id.source, &entry.declared, entry.declared.effect));
                if entry.listed {
                    tool.presets.push(name.to_owned());
                    listed.push(ListedTool {
                        name: entry.name.to_string(),
                        source: entry.id.source.clone(),
                        tool: Arc::clone(&entry.id.name),
                        effect: entry.spec.effect,
                        approval: entry.approval().map(|often| often.to_string()),
                        tokens: tool.tokens,
                    });
                }
            }
            let problems = catalog.problems.iter();
            let problems = problems.map(|(source, reason)| (source.to_string(), reason.clone())).collect();
            presets.push(KnownPreset { name: name.to_owned(), tools: Ok(listed), problems });
        }
        for held in composition.stores.tools.pending_changes().await?.iter().filter(|held| held.held_back) {
            let key = (SourceId::Server(held.server.as_str().into()), held.name.as_str().into());
            if let Some(tool) = tools.get_mut(&key) {
                tool.is_quarantined = true;
            }
        }
        drop(counts);
        let tools = tools.into_values().collect();
        Ok(Snapshot { composition, tools, presets, servers, config_error })
    }
}

impl Snapshot {
    /// Returns the path of presets.toml, or an empty one.
    pub(super) fn config_file(&self) -> PathBuf {
        self.composition.config.file.clone().unwrap_or_default()
    }

    /// Returns a tool by the name of its source.
    pub(super) fn tool(&self, source: &str, tool: &str) -> Option<&KnownTool> {
        self.tools.iter().find(|known| **known.source.name() == *source && *known.spec.name == *tool)
    }
}

fn file_times(composition: &Composition) -> FileTimes {
    let config = &composition.config;
    let state = ["tools.db", "tools.db-wal", "servers"].map(|name| config.state.join(name));
    let environment = environment_file::path();
    let files = config.file.iter().chain(&state).chain(&config.gate_folders).chain(&environment);
    files.map(|file| fs::metadata(file).and_then(|about| about.modified()).ok()).collect()
}
