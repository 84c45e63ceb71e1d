//! Composition root: connects the crates, which do not depend on each other.
//!
//! Longer than 300 lines because it shows all parts of a host together.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use gatehouse_auth::HostAuthenticator;
use gatehouse_core::{
    Catalog, CompiledPreset,
    catalog::SourceListing,
    gather::LastListings,
    ports::{AuditLog, Authenticator, Clock},
    quota_meter::QuotaMeter,
    surface::SurfaceMode,
};
use gatehouse_models::{ConfiguredModels, LocalModels, MissingModels};
use gatehouse_sandbox::{self as sandbox, Ports, Sandbox};
use gatehouse_stores::{AuditTables, KeyTables, KvTables, LedgerTables, ToolCatalogStore};
use gatehouse_text::{BpeTokenCounter, Extractor, LocalEmbedder};
use gatehouse_wire::{
    login::Logins,
    outbound::Outbound,
    serve::{PresetView, PresetViews},
};

use crate::{
    built_in,
    config::{Config, ConfigError, Env, NO_DEFAULT_PRESET},
    plain_error::PlainError,
    system_limits,
};

mod converters;
mod first_listings;
mod gates;
mod instructions;
mod offers;
mod pipeline;
mod principals;
mod quota_use;
mod readiness;
mod seal;
mod servers;
mod stores;
mod unmatched_patterns;
mod unmet;

use first_listings::FirstListings;
pub(crate) use first_listings::forget_failed_listings;
pub(crate) use gates::GateRegistry;
pub(crate) use pipeline::AnonymousCallers;
pub(crate) use principals::{PrincipalData, principal_named};
pub(crate) use quota_use::{AllowanceUse, QuotaUse};
pub(crate) use readiness::HostReadiness;
pub(crate) use seal::seal_keys;
pub(crate) use servers::{HostServers, KnownServer};
pub(crate) use stores::{GateCounts, audit_of, documents, keys, knowledge, logins};
use stores::{LazyGraph, LazyLibrary, LazyPort, LazyWorkspace};

pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

/// A running configuration.
///
/// Gates are loaded when a preset first needs them. A composition never changes; a reload creates a new one that reuses
/// unchanged parts.
pub(crate) struct Composition {
    pub(crate) config: Arc<Config>,
    pub(crate) models: sandbox::ModelPorts,
    /// Reasons why models are not available.
    pub(crate) missing: MissingModels,
    pub(crate) stores: HostStores,
    pub(crate) gates: GateRegistry,
    /// `None` without `[auth]`.
    authenticator: Option<Arc<HostAuthenticator>>,
    /// Last listings of sources that are slow or unavailable now.
    last_listings: Arc<LastListings>,
    /// How this command treats servers that were never listed. A host does not use it.
    pub(crate) first_listings: FirstListings,
}

/// Stores and connections that must be closed at shutdown.
#[derive(Clone)]
pub(crate) struct HostStores {
    pub(crate) knowledge: Arc<LazyGraph>,
    pub(crate) documents: Arc<LazyLibrary>,
    pub(crate) artifacts: Arc<LazyWorkspace>,
    kv: Arc<KvTables>,
    keys: Arc<KeyTables>,
    pub(crate) servers: Arc<HostServers>,
    pub(crate) tools: Arc<ToolCatalogStore>,
    /// The ledger. `None` if calls are not recorded.
    pub(crate) ledger: Option<Arc<LedgerTables>>,
    /// The calls that were recorded, also before the ledger was disabled.
    pub(crate) recorded: Arc<LedgerTables>,
    logins: Arc<Logins>,
    /// The audit, and the use of quotas. Its first entry creates the file.
    pub(crate) audit: Arc<AuditTables>,
    /// True if calls are recorded in the audit.
    pub(crate) audits: bool,
    pub(crate) quotas: Arc<QuotaMeter>,
}

impl HostStores {
    /// Returns the audit for entries. `None` if it is off.
    pub(crate) fn audit_log(&self) -> Option<Arc<dyn AuditLog>> {
        self.audits.then(|| Arc::clone(&self.audit) as _)
    }

    /// Returns the logins to servers, and starts to give out links to sign in. `base` is the address for browsers.
    pub(crate) fn open_sign_ins(&self, base: &str) -> Arc<Logins> {
        self.logins.sign_ins().open(base, Arc::clone(&self.servers) as _);
        Arc::clone(&self.logins)
    }

    /// Closes all stores permanently. Afterwards each database is a single file.
    pub(crate) async fn close(&self) {
        // Servers may still write to the stores while they shut down, so close them first.
        self.servers.live.close().await;
        let (knowledge, documents) = (self.knowledge.close(), self.documents.close());
        let (artifacts, kv, logins) = (self.artifacts.close(), self.kv.close(), self.logins.close());
        let audit = async {
            if let Err(fault) = self.quotas.save().await {
                tracing::warn!("cannot store the use of quotas: {}", fault.in_one_line());
            }
            self.audit.close().await;
        };
        let keys = self.keys.close();
        tokio::join!(
            knowledge,
            documents,
            self.tools.close(),
            self.recorded.close(),
            artifacts,
            kv,
            keys,
            logins,
            audit
        );
    }
}

pub(crate) fn models(config: &Config) -> Result<ConfiguredModels, ConfigError> {
    let local = LocalModels { embedder: Arc::new(LocalEmbedder), tokens: Arc::new(BpeTokenCounter) };
    ConfiguredModels::new(&config.models, local)
        .map_err(|bad| ConfigError::new(format!("[models.{}]", bad.provider.id()), bad.message))
}

impl Composition {
    pub(crate) fn new(config: Config, env: &Env) -> Result<Self, ConfigError> {
        let config = Arc::new(config);
        let ConfiguredModels { llm, embedder, missing } = models(&config)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let recorded = stores::ledger(&config, &clock);
        let embeds = Some(Arc::clone(&embedder));
        let tools =
            Arc::new(ToolCatalogStore::sqlite(config.state.join("tools.db"), Arc::clone(&clock), embeds));
        let logins = Arc::new(logins(&config));
        let index = Arc::clone(&tools) as _;
        let servers = HostServers::new(&config, env, index, Arc::clone(&clock), Arc::clone(&logins));
        let (audit, quotas) = stores::audit(&config, &clock);
        let stores = HostStores {
            audit,
            audits: config.audits(),
            quotas,
            knowledge: LazyPort::new("the knowledge graph is", &config, &embedder, stores::tool_knowledge),
            documents: LazyPort::new("the document repositories are", &config, &embedder, stores::documents),
            artifacts: LazyPort::new("the artifacts are", &config, &embedder, stores::artifacts),
            kv: Arc::new(KvTables::sqlite(config.state.join("kv.db"), Arc::clone(&clock))),
            keys: Arc::new(keys(&config)),
            servers: Arc::new(servers),
            tools,
            ledger: config.ledger.enabled.then(|| Arc::clone(&recorded)),
            recorded,
            logins,
        };
        let authenticator = config.auth.as_ref().map(|auth| {
            let keys = Arc::clone(&stores.keys) as _;
            Arc::new(HostAuthenticator::new(auth, keys, Arc::clone(&clock)))
        });
        let models = sandbox::ModelPorts { llm, embedder, tokens: Arc::new(BpeTokenCounter) };
        let ports = Ports {
            clock,
            knowledge: Arc::clone(&stores.knowledge) as _,
            documents: Arc::clone(&stores.documents) as _,
            kv: Arc::clone(&stores.kv) as _,
            artifacts: Arc::clone(&stores.artifacts) as _,
            text: Arc::new(Extractor),
            http: Arc::new(Outbound::default()),
            models: models.clone(),
            servers: Arc::clone(&stores.servers.live) as _,
            tools: Arc::clone(&stores.tools) as _,
            ledger: stores.ledger.clone().map(|ledger| ledger as _),
        };
        let limits = system_limits::read();
        let sandbox = Sandbox::new(&config.cache, config.cache_size, built_in::COMPONENTS, limits, ports);
        let gates = GateRegistry::new(Arc::clone(&config), sandbox);
        Ok(Self {
            models,
            missing,
            stores,
            gates,
            authenticator,
            last_listings: Arc::default(),
            first_listings: FirstListings::default(),
            config,
        })
    }

    /// Creates the composition of another configuration. Gates with unchanged settings stay loaded, except those in
    /// `reread`, which are loaded again. Gates in `withdrawn` no longer exist.
    pub(crate) async fn with_config(
        &self,
        config: Arc<Config>,
        reread: &BTreeSet<String>,
        withdrawn: BTreeSet<String>,
    ) -> Self {
        let gates = self.gates.next(Arc::clone(&config), reread, withdrawn).await;
        Self {
            models: self.models.clone(),
            missing: self.missing.clone(),
            stores: self.stores.clone(),
            gates,
            // `[auth]` takes effect at the next start.
            authenticator: self.authenticator.clone(),
            last_listings: Arc::clone(&self.last_listings),
            first_listings: FirstListings::default(),
            config,
        }
    }

    /// Returns the authenticator of callers over HTTP, the same until the next start. `None` without `[auth]`.
    pub(crate) fn authenticator(&self) -> Option<Arc<dyn Authenticator>> {
        self.authenticator.clone().map(|authenticator| authenticator as _)
    }

    /// Builds the views to serve: the chosen preset, which must work, and, if `all` is set, every served preset by
    /// name over HTTP, which may fail.
    pub(crate) async fn views(&self, chosen: &CompiledPreset, all: bool) -> Result<PresetViews, PlainError> {
        let mut views = PresetViews::from(self.view(chosen).await?);
        let config = &self.config;
        for name in config.presets.keys().filter(|_| all) {
            if let Some(reason) = config.not_served(name).filter(|_| *name != chosen.preset) {
                views.unserved.insert(Some(name.clone()), reason);
                continue;
            }
            let view = match config.compiled(name) {
                Ok(compiled) => self.view(&compiled).await,
                Err(error) => Err(error.into()),
            };
            views.presets.insert(name.clone(), view.map_err(String::from));
        }
        if all && chosen.preset == NO_DEFAULT_PRESET {
            views.unserved.extend(config.no_default().map(|reason| (None, reason)));
        }
        Ok(views)
    }

    async fn view(&self, compiled: &CompiledPreset) -> Result<PresetView, PlainError> {
        let offers = self.offers(compiled).await?;
        let is_starting =
            |offer: &&SourceListing| offer.pending.as_ref().is_some_and(|pending| pending.until.is_some());
        let starting = offers.iter().filter(is_starting);
        let starting: Vec<_> = starting.map(|offer| offer.source.id().clone()).collect();
        for warning in self.check_changes(compiled, &offers)? {
            tracing::warn!(preset = compiled.preset, "{warning}");
        }
        let texts =
            offers.iter().map(|offer| (offer.source.id().clone(), offer.listing.summary.clone())).collect();
        let catalog = self.build(compiled, offers).await?;
        for (source, reason) in catalog.problems.iter().filter(|(source, _)| !starting.contains(source)) {
            tracing::warn!(preset = compiled.preset, "{source} does not list its tools: {reason}");
        }
        let instructions = instructions::writer(&catalog, texts, compiled.description.clone());
        Ok(PresetView { catalog, instructions: Some(instructions) })
    }

    /// Builds the catalog of one preset. The error names preset, gate and file.
    pub(crate) async fn catalog(&self, compiled: &CompiledPreset) -> Result<Catalog, PlainError> {
        self.list_shown_servers(compiled.sources.iter().map(|(id, _)| id)).await;
        let offers = self.offers(compiled).await?;
        self.check_changes(compiled, &offers)?;
        self.build(compiled, offers).await
    }

    async fn build(
        &self,
        compiled: &CompiledPreset,
        offers: Vec<SourceListing>,
    ) -> Result<Catalog, PlainError> {
        let mut compiled = compiled.clone();
        compiled.filters_on = self.config.intelligence.enabled;
        if !self.reaches_servers(&compiled) {
            // No gate can replace the servers' tools.
            compiled.surface = SurfaceMode::All;
        }
        let mut catalog = Catalog::build(&compiled, offers)
            .map_err(|error| self.config.catalog_error(&compiled.preset, &error))?;
        for server in self.reachable_servers(&compiled) {
            let skills = server.known_skills().await;
            catalog.resources_and_prompts.add_linked(server, skills);
        }
        Ok(catalog)
    }

    /// Builds the catalog of every served preset. An entry is an error if that preset cannot be served.
    pub(crate) async fn catalogs(&self) -> Vec<(&str, Result<Catalog, PlainError>)> {
        let mut catalogs = Vec::new();
        for name in self.config.served_presets() {
            let catalog = match self.config.compiled(name) {
                Ok(compiled) => self.catalog(&compiled).await,
                Err(error) => Err(error.into()),
            };
            catalogs.push((name.as_str(), catalog));
        }
        catalogs
    }
}
