//! The composition: crates that do not know each other are put together here, and nowhere else.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use gatehouse_core::{
    Catalog, Exposure, Source,
    catalog::SourceListing,
    gather::{LastListings, gather},
    ports::Clock,
    tool::SourceId,
};
use gatehouse_models::{Local, Missing, Models};
use gatehouse_sandbox::{self as sandbox, Gate, Ports, Sandbox};
use gatehouse_stores::SqliteKv;
use gatehouse_text::{Extractor, LocalEmbedder, Tokens};
use gatehouse_wire::{outbound::Outbound, serve::PresetView};
use serde_json::{Map, Value};

use crate::config::{Config, ConfigError};

mod artifacts;
mod counts;
mod documents;
mod gates;
mod graph;
mod instructions;
mod lacks;
mod late;
mod pipeline;

pub(crate) use counts::Counts;
pub(crate) use documents::documents;
pub(crate) use gates::Gates;
pub(crate) use graph::knowledge;
pub(crate) use late::{Graph, Library, Workspace};
pub(crate) use pipeline::pipeline;

/// The wall clock of this machine.
struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

/// A configuration at work: gates are loaded when a preset first needs them, each once. What is composed
/// does not change; a reload composes anew and takes over what stays as it is.
pub(crate) struct Composition {
    /// What was configured.
    pub(crate) config: Arc<Config>,
    /// The knowledge graph as gates see it.
    pub(crate) knowledge: Arc<Graph>,
    /// The documents as gates see them.
    pub(crate) documents: Arc<Library>,
    /// The artifacts as gates see them.
    pub(crate) artifacts: Arc<Workspace>,
    /// The models as gates see them.
    pub(crate) models: sandbox::Models,
    /// What no model does.
    pub(crate) missing: Missing,
    /// Everything that keeps something.
    pub(crate) stores: Stores,
    /// The gates.
    pub(crate) gates: Gates,
    /// What sources listed that are slow or gone now.
    last_listings: Arc<LastListings>,
}

/// What keeps things for gates, and has to be closed at the end.
#[derive(Clone)]
pub(crate) struct Stores {
    knowledge: Arc<Graph>,
    documents: Arc<Library>,
    artifacts: Arc<Workspace>,
    kv: Arc<SqliteKv>,
}

impl Stores {
    /// Closes all for good; each database is one whole file then.
    pub(crate) async fn close(&self) {
        let (knowledge, documents) = (self.knowledge.close(), self.documents.close());
        tokio::join!(knowledge, documents, self.artifacts.close(), self.kv.close());
    }
}

/// The presets of a composition, ready to be served.
pub(crate) struct PresetViews {
    /// The one for clients that name none.
    pub(crate) default: PresetView,
    /// Those that HTTP serves by name, or why they cannot be served.
    pub(crate) presets: BTreeMap<String, Result<PresetView, String>>,
}

impl PresetViews {
    /// Presets that cannot be served, with the reason.
    pub(crate) fn failing(&self) -> BTreeMap<String, String> {
        let failing = |(name, view): (&String, &Result<PresetView, String>)| {
            Some((name.clone(), view.as_ref().err()?.clone()))
        };
        self.presets.iter().filter_map(failing).collect()
    }
}

/// The models of a configuration.
pub(crate) fn models(config: &Config) -> Result<Models, ConfigError> {
    let local = Local { embedder: Arc::new(LocalEmbedder), tokens: Arc::new(Tokens) };
    Models::new(&config.models, local)
        .map_err(|bad| ConfigError { place: format!("[models.{}]", bad.provider.id()), message: bad.message })
}

impl Composition {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        let config = Arc::new(config);
        let Models { llm, embedder, missing } = models(&config)?;
        let knowledge = Arc::new(graph::of_host(&config, &embedder));
        let kv = Arc::new(SqliteKv::new(config.state.join("kv.db"), Arc::new(SystemClock)));
        let documents = Arc::new(documents::of_host(&config, &embedder));
        let artifacts = Arc::new(artifacts::of_host(&config, &embedder));
        let stores = Stores {
            knowledge: Arc::clone(&knowledge),
            documents: Arc::clone(&documents),
            artifacts: Arc::clone(&artifacts),
            kv: Arc::clone(&kv),
        };
        let models = sandbox::Models { llm, embedder, tokens: Arc::new(Tokens) };
        let ports = Ports {
            clock: Arc::new(SystemClock),
            knowledge: Arc::clone(&knowledge) as _,
            documents: Arc::clone(&documents) as _,
            kv,
            artifacts: Arc::clone(&artifacts) as _,
            text: Arc::new(Extractor),
            http: Arc::new(Outbound::new()),
            models: models.clone(),
        };
        let sandbox = Sandbox::new(&config.cache, config.cache_size, ports);
        let gates = Gates::new(Arc::clone(&config), sandbox);
        Ok(Self {
            knowledge,
            documents,
            artifacts,
            models,
            missing,
            stores,
            gates,
            last_listings: Arc::default(),
            config,
        })
    }

    /// The same host under another configuration. Gates whose settings are the same stay loaded, but for
    /// those in `reread`, whose files are read again; those in `withdrawn` have none any more.
    pub(crate) async fn next(
        &self,
        config: Arc<Config>,
        reread: &BTreeSet<String>,
        withdrawn: BTreeSet<String>,
    ) -> Self {
        let gates = self.gates.next(Arc::clone(&config), reread, withdrawn).await;
        Self {
            knowledge: Arc::clone(&self.knowledge),
            documents: Arc::clone(&self.documents),
            artifacts: Arc::clone(&self.artifacts),
            models: self.models.clone(),
            missing: self.missing.clone(),
            stores: self.stores.clone(),
            gates,
            last_listings: Arc::clone(&self.last_listings),
            config,
        }
    }

    /// What is to be served: the chosen exposure, which must work, and with `all` every preset by name,
    /// which may say why it does not.
    pub(crate) async fn views(&self, chosen: &Exposure, all: bool) -> Result<PresetViews, String> {
        let default = self.view(chosen).await?;
        let mut presets = BTreeMap::new();
        for name in self.config.presets.keys().filter(|_| all) {
            let view = match Exposure::compile(&self.config.presets, name) {
                Ok(exposure) => self.view(&exposure).await,
                Err(error) => Err(error.to_string()),
            };
            presets.insert(name.clone(), view);
        }
        Ok(PresetViews { default, presets })
    }

    async fn view(&self, exposure: &Exposure) -> Result<PresetView, String> {
        let offers = self.offers(exposure).await?;
        let listings: Vec<_> =
            offers.iter().map(|offer| (offer.source.id().clone(), Arc::clone(&offer.listing))).collect();
        let catalog = self.build(exposure, offers)?;
        for (source, why) in &catalog.problems {
            tracing::warn!(preset = exposure.preset, "{source} does not list its tools: {why}");
        }
        // A gate whose tools are all denied is not the client's business.
        let shown = |source: &SourceId| catalog.entries().iter().any(|entry| entry.id.source == *source);
        let gates: Vec<(&str, &str)> = listings
            .iter()
            .filter(|(source, _)| shown(source))
            .map(|(source, listing)| (&**source.name(), listing.summary.as_str()))
            .collect();
        let instructions = instructions::instructions(&gates, exposure.description.as_deref());
        Ok(PresetView { catalog, instructions })
    }

    /// Everything callable under one preset. The error names preset, gate and file.
    pub(crate) async fn catalog(&self, exposure: &Exposure) -> Result<Catalog, String> {
        let offers = self.offers(exposure).await?;
        self.build(exposure, offers)
    }

    fn build(&self, exposure: &Exposure, offers: Vec<SourceListing>) -> Result<Catalog, String> {
        let mut exposure = exposure.clone();
        exposure.filters_on = self.config.intelligence.enabled;
        Catalog::build(&exposure, offers).map_err(|error| error.to_string())
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

    /// What the sources of a preset list, before anything is named or denied.
    pub(crate) async fn offers(&self, exposure: &Exposure) -> Result<Vec<SourceListing>, String> {
        let refused = |why: String| format!("preset '{}': {why}", exposure.preset);
        let mut sources = Vec::new();
        for (id, params) in &exposure.sources {
            let source: Arc<dyn Source> = match id {
                SourceId::Gate(name) if self.gates.is_withdrawn(name) => continue,
                SourceId::Gate(name) => self.gates.get(name).await.map_err(refused)?,
                SourceId::Server(_) => return Err(refused(format!("there is no {id}"))),
            };
            let mut params = params.clone();
            self.add_environment(&*source, &mut params).await;
            sources.push((source, params));
        }
        gather(sources, &self.last_listings).await.map_err(refused)
    }

    /// Adds what the environment says to the parameters of a gate that filters replies. A gate that does not list its tools
    /// says why where it is asked in earnest.
    async fn add_environment(&self, source: &dyn Source, params: &mut Map<String, Value>) {
        if !self.config.intelligence.adds_nothing()
            && let Ok(listing) = source.list(params).await
            && listing.filter
        {
            self.config.intelligence.add(&listing.params_schema, params);
        }
    }

    /// The gate of this name, loaded once. The error names the file, or what exists instead.
    pub(crate) async fn gate(&self, name: &str) -> Result<Arc<Gate>, String> {
        self.gates.get(name).await
    }

    /// A gate from any file, with what the configuration grants to the gate of that name.
    pub(crate) async fn gate_at(&self, file: &Path) -> Result<Gate, String> {
        self.gates.at(file).await
    }

    /// A gate from any file, without grants and whatever the configuration pins.
    pub(crate) async fn bare_gate(&self, name: &str, file: &Path) -> Result<Gate, String> {
        self.gates.bare(name, file).await
    }

    /// Names of all gates there are: files in the folders, and those that the configuration names.
    pub(crate) fn gate_names(&self) -> Vec<String> {
        self.gates.names()
    }
}
