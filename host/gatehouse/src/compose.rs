//! The composition: crates that do not know each other are put together here, and nowhere else.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use gatehouse_core::{
    Catalog, Exposure, FaultKind, Pipeline, Source, catalog::Offer, names, ports::Clock, schema::Schema,
    source::Listing,
};
use gatehouse_models::Extractor;
use gatehouse_sandbox::{Gate, Ports, Sandbox};
use gatehouse_stores::{IndexFile, KnowledgeConfig, WikiKnowledge, WikiRoots};
use gatehouse_wire::{
    outbound::Outbound,
    serve::{House, Served},
};
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::config::{Config, ConfigError, Env, GateConfig};

/// The wall clock of this machine.
struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

/// The knowledge graph of a configuration, or of an index file where one is named. `roots` says which
/// folders it may touch.
pub(crate) fn knowledge(
    config: &Config,
    index_file: Option<&Path>,
    roots: WikiRoots,
) -> Result<WikiKnowledge, ConfigError> {
    let mut database = config.state.join("knowledge.db");
    let mut default_root = None;
    if let Some(path) = index_file {
        let bad = |message: String| ConfigError { place: "KG_INDEX_PATH".into(), message };
        let index = IndexFile::read(path).map_err(|fault| bad(said(&fault)))?;
        // One arm per engine; the configuration's `knowledge.engine` knows the same names.
        match index.search_backend.as_str() {
            "sqlite" => {
                if let Some(named) = index.backend_refs.get("database").and_then(Value::as_str) {
                    database = PathBuf::from(named);
                }
            }
            other => {
                return Err(bad(format!(
                    "the index file wants the engine '{other}', which this build does not have"
                )));
            }
        }
        default_root = Some(index.wiki());
    }
    Ok(WikiKnowledge::sqlite(KnowledgeConfig { database, roots, default_root }, Arc::new(SystemClock)))
}

/// A fault in one line, for people at a terminal.
pub(crate) fn said(fault: &gatehouse_core::Fault) -> String {
    let Some(hint) = &fault.hint else { return fault.message.clone() };
    let stop = if fault.message.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{}{stop} {hint}", fault.message)
}

/// A configuration at work: gates are loaded when a preset first needs them, each once.
pub(crate) struct Composition {
    /// What was configured.
    pub(crate) config: Config,
    /// The knowledge graph as gates see it.
    pub(crate) knowledge: Arc<WikiKnowledge>,
    sandbox: Sandbox,
    gates: Mutex<BTreeMap<String, Arc<Gate>>>,
}

impl Composition {
    pub(crate) fn new(config: Config, env: &Env) -> Result<Self, ConfigError> {
        let roots = WikiRoots::Only(config.knowledge.wiki_roots.clone());
        let knowledge = Arc::new(knowledge(&config, env.kg_index_path().as_deref(), roots)?);
        let ports = Ports {
            clock: Arc::new(SystemClock),
            knowledge: Arc::clone(&knowledge) as _,
            text: Arc::new(Extractor),
            http: Arc::new(Outbound::new()),
        };
        let sandbox = Sandbox::new(&config.state.join("cache"), ports);
        Ok(Self { config, knowledge, sandbox, gates: Mutex::default() })
    }

    /// The chosen exposure alone, for the one client of stdio. The error says why it cannot be served.
    pub(crate) async fn house(&self, chosen: &Exposure) -> Result<House, String> {
        let default = self.served(chosen).await?;
        Ok(House { pipeline: Pipeline::standard(), default, presets: BTreeMap::new() })
    }

    /// The chosen exposure and every preset by name. The chosen one must work; another may say why it
    /// does not.
    pub(crate) async fn house_of_all(&self, chosen: &Exposure) -> Result<House, String> {
        let mut house = self.house(chosen).await?;
        for name in self.config.presets.keys() {
            let served = match Exposure::compile(&self.config.presets, name) {
                Ok(exposure) => self.served(&exposure).await,
                Err(error) => Err(error.to_string()),
            };
            if let Err(why) = &served {
                tracing::warn!(preset = %name, "cannot be served: {why}");
            }
            house.presets.insert(name.clone(), served);
        }
        Ok(house)
    }

    /// One preset, ready to be served.
    async fn served(&self, exposure: &Exposure) -> Result<Arc<Served>, String> {
        let catalog = ArcSwap::from_pointee(self.catalog(exposure).await?);
        Ok(Arc::new(Served { catalog, description: exposure.description.clone() }))
    }

    /// Everything callable under one preset. The error names preset, gate and file.
    pub(crate) async fn catalog(&self, exposure: &Exposure) -> Result<Catalog, String> {
        let offers = self.offers(exposure).await?;
        Catalog::build(exposure, offers).map_err(|error| error.to_string())
    }

    /// Every preset with its catalog, or with why it cannot be served.
    pub(crate) async fn catalogs(&self) -> Vec<(&str, Result<Catalog, String>)> {
        let mut catalogs = Vec::new();
        for name in self.config.presets.keys() {
            let catalog = match Exposure::compile(&self.config.presets, name) {
                Ok(exposure) => self.catalog(&exposure).await,
                Err(error) => Err(error.to_string()),
            };
            catalogs.push((name.as_str(), catalog));
        }
        catalogs
    }

    /// What the gates of a preset offer, before anything is named or denied.
    pub(crate) async fn offers(&self, exposure: &Exposure) -> Result<Vec<Offer>, String> {
        let preset = &exposure.preset;
        let mut offers = Vec::new();
        for (name, params) in &exposure.gates {
            let gate = self.gate(name).await.map_err(|why| format!("preset '{preset}': {why}"))?;
            let listing = list(&gate, params).await;
            let listing = listing.map_err(|why| format!("preset '{preset}': gate '{name}': {why}"))?;
            offers.push(Offer { source: gate, listing, params: params.clone() });
        }
        Ok(offers)
    }

    /// The gate of this name, loaded once. The error names the file, or what exists instead.
    pub(crate) async fn gate(&self, name: &str) -> Result<Arc<Gate>, String> {
        let mut gates = self.gates.lock().await;
        if let Some(gate) = gates.get(name) {
            return Ok(Arc::clone(gate));
        }
        let file = self.file_of(name)?;
        let settings = self.config.gates.get(name).cloned().unwrap_or_default().settings;
        // Nobody waits for this task's thread while gates are loaded, and a gate that the index knows is
        // loaded in less time than another thread takes to wake.
        let loaded = tokio::task::block_in_place(|| self.sandbox.gate(name, &file, settings));
        let gate = Arc::new(loaded.map_err(|error| format!("gate '{name}' cannot be loaded: {error}"))?);
        gates.insert(name.to_owned(), Arc::clone(&gate));
        Ok(gate)
    }

    /// A gate from any file, with what the configuration grants to the gate of that name.
    pub(crate) async fn gate_at(&self, file: &Path) -> Result<Gate, String> {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let settings = self.config.gates.get(&name).cloned().unwrap_or_default().settings;
        tokio::task::block_in_place(|| self.sandbox.gate(&name, file, settings))
            .map_err(|error| error.to_string())
    }

    /// Names of all gates there are: files in the folders, and those that the configuration names.
    pub(crate) fn gate_names(&self) -> Vec<String> {
        let dropped = self.config.gate_folders.iter().flat_map(|folder| wasm_files(folder));
        let named = self
            .config
            .gates
            .iter()
            .filter(|(_, gate)| gate.component.is_some())
            .map(|(name, _)| name.clone());
        let mut names: Vec<String> = dropped.chain(named).collect();
        names.sort();
        names.dedup();
        names
    }

    fn file_of(&self, name: &str) -> Result<PathBuf, String> {
        if let Some(GateConfig { component: Some(file), .. }) = self.config.gates.get(name) {
            return Ok(file.clone());
        }
        // A gate's name is a file's stem; anything else could lead out of the folder.
        let in_folders = self.config.gate_folders.iter().map(|folder| folder.join(format!("{name}.wasm")));
        if let Some(file) = in_folders.filter(|_| is_gate_name(name)).find(|file| file.exists()) {
            return Ok(file);
        }
        let known = self.gate_names();
        let near = names::did_you_mean(name, known.iter().map(String::as_str));
        let shown = names::quoted(name, 64);
        let folders: Vec<String> = self.config.gate_folders.iter().map(|f| f.display().to_string()).collect();
        let there_are = if known.is_empty() {
            format!(
                "There is no gate in {}; `cargo xtask gates` builds the shipped ones.",
                folders.join(", ")
            )
        } else {
            format!("There are: {}.", known.join(", "))
        };
        Err(format!("unknown gate '{shown}': no {shown}.wasm in {}.{near} {there_are}", folders.join(", ")))
    }
}

/// What a gate offers under these parameters. Where the gate refuses them, the host looks for the reason in
/// the schema that the gate declares without any, and words it as it words every such mistake.
async fn list(gate: &Gate, params: &Map<String, Value>) -> Result<Arc<Listing>, String> {
    let fault = match gate.list(params).await {
        Ok(listing) => return Ok(listing),
        Err(fault) => fault,
    };
    if fault.kind == FaultKind::InvalidArguments
        && let Ok(plain) = gate.list(&Map::new()).await
    {
        Schema::new(Arc::clone(&plain.params_schema)).check(&Value::Object(params.clone()), "parameter")?;
    }
    Err(said(&fault))
}

fn wasm_files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wasm =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ext| ext == "wasm"));
    let names = wasm.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    names.filter(|name| is_gate_name(name)).collect()
}

fn is_gate_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
}
