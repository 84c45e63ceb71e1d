//! Creates the stores for the configured engines. The stores of ports open on first use: a failed setup is retried on the
//! next use, and its error affects only callers of the port.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use gatehouse_core::{
    Fault,
    capability::{AccessLevel, Capability, Grants},
    ports::{
        ArtifactService, CallLedger as _, Clock, DocumentReader, Embedder, KnowledgeGraph, KvStore as _,
        PortSetup,
        ledger::{MetricsFilter, ToolMetrics},
    },
    quota_meter::QuotaMeter,
};
use gatehouse_stores::{
    ArtifactStore, AuditTables, DocumentLibrary, KeyTables, KnowledgeConfig, LedgerHealth, LedgerRetention,
    LedgerTables, StoreHealth, WikiKnowledge, WikiRoots,
};
use gatehouse_wire::login::Logins;
use tokio::sync::watch;

use super::{Composition, HostStores, SystemClock};
use crate::config::{ArtifactsEngineConfig, Config, ConfigError, DocumentsEngineConfig, EngineConfig};

/// Delay of the first sweep, to keep it out of the host's startup.
const FIRST_SWEEP: Duration = Duration::from_secs(60);

const SWEEP_INTERVAL: Duration = Duration::from_secs(300);

/// Interval in which old calls are deleted. Their retention is in days.
const FORGET_INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);

/// Creates the knowledge graph that tools use.
pub(super) fn tool_knowledge(
    config: &Config,
    embedder: &Arc<dyn Embedder>,
) -> Result<WikiKnowledge, ConfigError> {
    let roots = WikiRoots::Only(config.knowledge.wiki_roots.clone());
    knowledge(config.knowledge.chosen()?, roots, embedder)
}

/// Creates the knowledge graph of an engine, with an optional default wiki. `roots` are the directories it may access.
pub(crate) fn knowledge(
    (engine, wiki): (EngineConfig, Option<PathBuf>),
    roots: WikiRoots,
    embedder: &Arc<dyn Embedder>,
) -> Result<WikiKnowledge, ConfigError> {
    let (clock, embedder) = (Arc::new(SystemClock), Some(Arc::clone(embedder)));
    Ok(match engine {
        EngineConfig::Sqlite { database } => {
            WikiKnowledge::sqlite(KnowledgeConfig { database, roots, default_root: wiki }, clock, embedder)
        }
        #[cfg(feature = "postgres")]
        EngineConfig::Postgres(server) => WikiKnowledge::postgres(*server, roots, wiki, clock, embedder),
        #[cfg(feature = "weaviate-neo4j")]
        EngineConfig::WeaviateNeo4j(servers) => {
            WikiKnowledge::weaviate_neo4j(&servers, roots, wiki, clock, embedder)
                .map_err(|fault| ConfigError::new("knowledge.engine", fault.in_one_line()))?
        }
    })
}

pub(crate) fn documents(
    config: &Config,
    embedder: &Arc<dyn Embedder>,
) -> Result<DocumentLibrary, ConfigError> {
    let (clock, embedder) = (Arc::new(SystemClock), Some(Arc::clone(embedder)));
    Ok(match config.documents.chosen()? {
        DocumentsEngineConfig::Sqlite => {
            DocumentLibrary::sqlite(config.state.join("documents.db"), clock, embedder)
        }
        #[cfg(feature = "postgres")]
        DocumentsEngineConfig::Postgres { server, tables } => {
            let tokens = Arc::new(gatehouse_text::BpeTokenCounter);
            let config = gatehouse_stores::PostgresDocumentsConfig { server: *server, tables, tokens };
            DocumentLibrary::postgres(config, clock, embedder)
        }
    })
}

pub(super) fn artifacts(config: &Config, embedder: &Arc<dyn Embedder>) -> Result<ArtifactStore, ConfigError> {
    let (clock, embedder) = (Arc::new(SystemClock), Some(Arc::clone(embedder)));
    let limits = config.artifacts.limits();
    let store = match config.artifacts.chosen()? {
        ArtifactsEngineConfig::Sqlite => {
            ArtifactStore::sqlite(config.state.join("artifacts.db"), limits, clock, embedder)
        }
        #[cfg(feature = "postgres")]
        ArtifactsEngineConfig::Postgres(server) => ArtifactStore::postgres(*server, limits, clock, embedder),
    }
    .with_row_reader(gatehouse_text::rows);
    #[cfg(feature = "chroma")]
    if let Some(chroma) = config.artifacts.chroma()? {
        return Ok(store.with_chroma(chroma));
    }
    Ok(store)
}

/// Maximum bytes of the arguments and replies in the ledger.
const MAX_LEDGER_BODY_BYTES: u32 = 256 << 20;

/// Creates the ledger, which opens its database on first use.
pub(super) fn ledger(config: &Config, clock: &Arc<dyn Clock>) -> Arc<LedgerTables> {
    let path = config.state.join("ledger.db");
    let retention = LedgerRetention { days: config.ledger.retention_days, body_bytes: MAX_LEDGER_BODY_BYTES };
    Arc::new(LedgerTables::sqlite(path, retention, Arc::clone(clock)))
}

/// Creates the audit, and the meter of quotas, which stores its counts in the same database.
pub(super) fn audit(config: &Config, clock: &Arc<dyn Clock>) -> (Arc<AuditTables>, Arc<QuotaMeter>) {
    let audit = Arc::new(audit_of(config));
    let quotas = QuotaMeter::new(Arc::clone(clock), Some(Arc::clone(&audit) as _));
    quotas.set_rules(config.quotas.clone());
    (audit, Arc::new(quotas))
}

pub(crate) fn audit_of(config: &Config) -> AuditTables {
    AuditTables::sqlite(config.state.join("audit.db"), config.audit.keep_days, Arc::new(SystemClock))
}

/// Logins to servers, in the data directory. Backups omit them: a used refresh token is worthless, and sending it again
/// ends the login.
pub(crate) fn logins(config: &Config) -> Logins {
    Logins::new(config.state.join("logins"), Arc::new(SystemClock))
}

/// Creates the store of API keys, which opens its database on first use.
pub(crate) fn keys(config: &Config) -> KeyTables {
    KeyTables::sqlite(config.state.join("auth.db"))
}

/// Prefix of counter keys, documented in docs/gate-reference.md.
const COUNTER_PREFIX: &str = "n:";

/// Counters of a gate for operators: numbers that it stores with `kv` under `n:` and a name.
pub(crate) type GateCounts = BTreeMap<String, i64>;

impl Composition {
    /// Returns the counters of each gate that has some. If the store cannot be read, returns none; calls report the
    /// error.
    pub(crate) async fn counts(&self) -> BTreeMap<String, GateCounts> {
        let mut counts_by_gate = BTreeMap::new();
        // Opening the store would create the database.
        if !self.config.state.join("kv.db").exists() {
            return counts_by_gate;
        }
        let may_keep =
            |grants: &Grants| grants.access(Capability::Kv).is_some_and(|access| access == AccessLevel::Full);
        for (gate, _) in self.config.gates.iter().filter(|(_, gate)| may_keep(&gate.settings.grants)) {
            let keys = self.stores.kv.keys(gate, COUNTER_PREFIX).await.unwrap_or_default();
            let mut counts = GateCounts::new();
            for key in keys {
                let value = self.stores.kv.get(gate, &key).await.ok().flatten();
                let number = value.and_then(|value| std::str::from_utf8(&value).ok()?.parse().ok());
                counts.extend(number.map(|number| (key[COUNTER_PREFIX.len()..].to_owned(), number)));
            }
            if !counts.is_empty() {
                counts_by_gate.insert(gate.clone(), counts);
            }
        }
        counts_by_gate
    }
}

impl HostStores {
    /// Returns metrics of the ledger. Empty if the ledger is disabled or has no database, which reading would create.
    pub(crate) async fn metrics(&self, filter: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
        match &self.ledger {
            Some(ledger) if ledger.exists().await? => ledger.metrics(filter).await,
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the health of the ledger, which never changes if the ledger is disabled.
    pub(crate) fn ledger_health(&self) -> watch::Receiver<LedgerHealth> {
        match &self.ledger {
            Some(ledger) => ledger.health(),
            None => watch::channel(LedgerHealth::default()).1,
        }
    }

    /// Deletes expired artifacts every few minutes while the future is polled, and old calls every day, which an idle ledger
    /// would keep.
    pub(crate) async fn sweep(self) {
        tokio::time::sleep(FIRST_SWEEP).await;
        // Callers that need artifacts report configuration errors.
        let store = self.artifacts.get().ok();
        let _sweeper = store.as_ref().map(|store| store.start_sweeping(SWEEP_INTERVAL));
        loop {
            if let Err(fault) = self.recorded.forget_old_calls().await {
                tracing::warn!("cannot delete old calls: {}", fault.in_one_line());
            }
            tokio::time::sleep(FORGET_INTERVAL).await;
        }
    }
}

pub(crate) struct LazyPort<T> {
    /// Subject and verb for faults, such as "the artifacts are".
    subject: &'static str,
    config: Arc<Config>,
    embedder: Arc<dyn Embedder>,
    make: fn(&Config, &Arc<dyn Embedder>) -> Result<T, ConfigError>,
    made: OnceLock<Arc<T>>,
}

pub(crate) type LazyGraph = LazyPort<WikiKnowledge>;

pub(crate) type LazyLibrary = LazyPort<DocumentLibrary>;

pub(crate) type LazyWorkspace = LazyPort<ArtifactStore>;

impl<T> LazyPort<T> {
    pub(super) fn new(
        subject: &'static str,
        config: &Arc<Config>,
        embedder: &Arc<dyn Embedder>,
        make: fn(&Config, &Arc<dyn Embedder>) -> Result<T, ConfigError>,
    ) -> Arc<Self> {
        let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
        Arc::new(Self { subject, config, embedder, make, made: OnceLock::new() })
    }

    /// Returns the port, set up if necessary. Fails if its configuration is invalid.
    pub(crate) fn get(&self) -> Result<&Arc<T>, Fault> {
        if let Some(port) = self.made.get() {
            return Ok(port);
        }
        // Two callers can race. Building opens nothing, so drop the loser.
        let port = (self.make)(&self.config, &self.embedder).map_err(|error| {
            Fault::unavailable(format!("{} not set up: {error}", self.subject))
                .hint("Ask the host's operator to run `gatehouse doctor`.")
        })?;
        Ok(self.made.get_or_init(|| Arc::new(port)))
    }
}

/// Offers the port of a store, its health and its end.
macro_rules! port_of_store {
    ($store:ty: $port:ident) => {
        impl LazyPort<$store> {
            pub(crate) async fn health(&self) -> Result<StoreHealth, Fault> {
                self.get()?.health().await
            }

            /// Returns the health of the store. `None` if nothing has used it yet.
            pub(crate) async fn health_if_used(&self) -> Option<Result<StoreHealth, Fault>> {
                Some(self.made.get()?.health().await)
            }

            pub(crate) async fn close(&self) {
                if let Some(port) = self.made.get() {
                    port.close().await;
                }
            }
        }

        impl PortSetup<dyn $port> for LazyPort<$store> {
            fn port(&self) -> Result<&(dyn $port + 'static), Fault> {
                Ok(&**self.get()?)
            }
        }
    };
}

port_of_store!(WikiKnowledge: KnowledgeGraph);
port_of_store!(DocumentLibrary: DocumentReader);
port_of_store!(ArtifactStore: ArtifactService);

#[cfg(all(test, feature = "weaviate-neo4j"))]
mod tests {
    use super::*;
    use crate::config::{ConfigText, Env};

    #[test]
    fn addresses_of_weaviate_and_neo4j_hold_no_credentials() {
        let error = |variable: &'static str, value: &str| {
            let env = Env::from_pairs([("NEO4J_PASSWORD", "s3cret"), (variable, value)]);
            let content = "[knowledge]\nengine = \"weaviate-neo4j\"".into();
            let config = Config::parse(&ConfigText { file: None, content }, &env);
            let config = config.unwrap_or_else(|error| panic!("{error}"));
            let embedder: Arc<dyn Embedder> = Arc::new(gatehouse_text::LocalEmbedder);
            let made =
                config.knowledge.chosen().and_then(|chosen| knowledge(chosen, WikiRoots::Any, &embedder));
            made.err().map(|error| error.to_string()).unwrap_or_default()
        };
        let wrong = error("WEAVIATE_URL", "http://me:s3cret@h");
        assert!(
            wrong.contains("WEAVIATE_URL must not contain credentials") && !wrong.contains("s3cret"),
            "{wrong}"
        );
        assert!(error("NEO4J_URI", "http://h").contains("NEO4J_URI 'http://h'"));
    }
}
