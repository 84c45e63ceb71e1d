//! Knowledge engine on two servers: Neo4j stores pages, links and vectors; Weaviate searches by words and by vector.
//!
//! Neo4j is the source of truth. One transaction stores pages and queues them for Weaviate, whose collections can be
//! rebuilt at any time. A failure of either server therefore loses no data: it only delays search, and a note reports
//! the delay.

mod config;
mod neo4j;
mod outbox;
mod search;
mod tokenizer;
mod weaviate;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
// Imported only to enable a feature; see Cargo.toml.
use chrono_tz as _;
use gatehouse_core::{
    Fault,
    page::{EngineStatistics, KnowledgePage},
};
use serde_json::{Map, Value};
use tokio::time::Instant;

use self::{
    neo4j::{Neo4jClient, SCHEMA, State},
    outbox::Outbox,
    search::WeaviateSearch,
    weaviate::WeaviateClient,
};
use crate::{
    embedding::{NewVector, VectorItem, VectorModel, VectorStore},
    engine::{
        PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, StoreHealth, WriteOutcome, WritePlan,
    },
    wiki::record::PageRecord,
    worker::{PassOutcome, Worker},
};

pub use config::{RemoteTimeouts, WeaviateNeo4jConfig};

pub(crate) const NAME: &str = "weaviate-neo4j";

/// Time that a write waits until its pages are searchable. Delivery continues in the background after that.
const MAX_WRITE_WAIT: Duration = Duration::from_secs(60);

/// Time that a search waits for undelivered pages.
const MAX_SEARCH_WAIT: Duration = Duration::from_secs(3);

/// Interval at which to check whether another host has finished.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) struct WeaviateNeo4jEngine(Arc<ServerPair>);

/// The two servers and the task that delivers pages from Neo4j to Weaviate.
struct ServerPair {
    neo4j: Arc<Neo4jClient>,
    weaviate: Arc<WeaviateClient>,
    outbox: Worker<Outbox>,
}

impl WeaviateNeo4jEngine {
    /// Creates an engine without connecting.
    ///
    /// # Errors
    ///
    /// Returns `invalid-arguments` with the name of the variable if an address is invalid.
    pub(crate) fn new(config: &WeaviateNeo4jConfig) -> Result<Self, Fault> {
        let neo4j = Arc::new(Neo4jClient::new(config)?);
        let weaviate = Arc::new(WeaviateClient::new(config)?);
        let outbox =
            Outbox::new(Arc::clone(&neo4j), Arc::clone(&weaviate), config.timing, name_of_this_host());
        Ok(Self(Arc::new(ServerPair { neo4j, weaviate, outbox: Worker::new(outbox) })))
    }
}

impl ServerPair {
    /// Returns the state after waiting up to [`MAX_SEARCH_WAIT`] for pending deliveries.
    async fn wait_for_outbox(&self, before: State, wanted: Option<&VectorModel>) -> Result<State, Fault> {
        let mut looked = self.outbox.job().looked.subscribe();
        if !*looked.borrow() {
            tokio::select! {
                _ = looked.wait_for(|looked| *looked) => {}
                brought = self.outbox.wait(MAX_SEARCH_WAIT) => if let Some(Err(fault)) = brought {
                    return Err(fault);
                },
            }
        }
        let state = self.neo4j.state().await?.unwrap_or(before);
        let other_vectors = wanted.is_some_and(|model| state.space != space(model));
        if state.waiting == 0 && !other_vectors {
            if state.queued > 0 && self.outbox.failing().is_none() {
                self.outbox.request_pass();
            }
            return Ok(state);
        }
        if let Some(model) = wanted {
            self.outbox.job().set_model(model);
        }
        match self.outbox.wait(MAX_SEARCH_WAIT).await {
            Some(Err(fault)) => Err(fault),
            _ => Ok(self.neo4j.state().await?.unwrap_or(state)),
        }
    }

    async fn wait_until_searchable(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            match self.outbox.wait(until.saturating_duration_since(Instant::now())).await {
                Some(Ok(PassOutcome::Complete)) => return true,
                // The other host may have crashed. Its lease expires.
                Some(Ok(PassOutcome::OtherHost)) if Instant::now() < until => {
                    tokio::time::sleep(POLL_INTERVAL).await
                }
                _ => return false,
            }
        }
    }
}

/// Returns the name of a vector space. Only vectors of the same space are comparable.
fn space(model: &VectorModel) -> Option<String> {
    model.dimension.map(|dimension| format!("{} {dimension}", model.name))
}

fn name_of_this_host() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{}-{:016x}{:016x}", std::process::id(), random(), random())
}

#[async_trait]
impl PageEngine for WeaviateNeo4jEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([
            ("neo4j_uri".to_owned(), Value::from(self.0.neo4j.address())),
            ("weaviate_url".to_owned(), Value::from(self.0.weaviate.address())),
            ("weaviate_collection".to_owned(), Value::from(weaviate::MAIN)),
        ])
    }

    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault> {
        self.0.neo4j.heads(scope).await
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        self.0.neo4j.records(ids).await
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        self.0.neo4j.pages(ids).await
    }

    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault> {
        self.0.neo4j.ids_by_title(title).await
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        self.0.neo4j.check_schema().await?;
        self.0.neo4j.domains(among).await
    }

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault> {
        let ServerPair { neo4j, weaviate, outbox } = &*self.0;
        neo4j.check_schema().await?;
        let Some(state) = neo4j.state().await? else { return Ok(PageCandidates::default()) };
        let model = question.vector.as_ref().map(|vector| VectorModel {
            name: vector.model.clone(),
            dimension: Some(vector.values.len()),
            searched: None,
        });
        let model = model.as_ref();
        let mut state = self.0.wait_for_outbox(state, model).await?;
        let result = WeaviateSearch { neo4j, weaviate, state: &state, model }.candidates(question).await;
        if result.is_ok() {
            return result;
        }
        // A collection can be missing. A pass recreates it or returns the error of Weaviate.
        if let Some(Err(fault)) = outbox.wait(MAX_SEARCH_WAIT).await {
            return Err(fault);
        }
        state = neo4j.state().await?.unwrap_or(state);
        WeaviateSearch { neo4j, weaviate, state: &state, model }.candidates(question).await
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        let applied = self.0.neo4j.apply(plan).await?;
        if let WriteOutcome::Done = applied {
            // The pages are stored even if delivery fails.
            match self.0.outbox.wait(MAX_WRITE_WAIT).await {
                Some(Ok(_)) => {}
                Some(Err(fault)) => {
                    tracing::warn!(%fault, "pages are stored, but not searchable yet")
                }
                None => tracing::info!("pages are stored; delivery to Weaviate continues"),
            }
        }
        Ok(applied)
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.0) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.0.neo4j.statistics(NAME).await
    }

    async fn wait_until_searchable(&self, limit: Duration) -> bool {
        self.0.wait_until_searchable(limit).await
    }

    async fn close(&self) {
        self.0.outbox.stop();
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let ServerPair { neo4j, weaviate, .. } = &*self.0;
        let (schema, ()) = tokio::try_join!(neo4j.schema(), weaviate.ping())?;
        let mut health = StoreHealth {
            engine: NAME,
            address: format!("{} and {}", neo4j.address(), weaviate.address()),
            schema: schema.map(|version| (version, SCHEMA)),
            ..StoreHealth::default()
        };
        if schema.is_some() {
            health.items = neo4j.statistics(NAME).await?.pages;
            health.unsearchable = neo4j.state().await?.map_or(0, |state| state.waiting);
            health.without_vector = match model {
                Some(model) if schema == Some(SCHEMA) => neo4j.without_vector(model).await?,
                _ => health.items,
            };
        }
        Ok(health)
    }
}

#[async_trait]
impl VectorStore for ServerPair {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        self.neo4j.items_without_vector(model, after, max).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        self.neo4j.store_vectors(model, vectors).await?;
        // Weaviate has the vectors of one model. A search exchanges them when it uses another.
        if model.searched.is_none() {
            self.outbox.job().set_model(model);
            self.wait_until_searchable(MAX_WRITE_WAIT).await;
        }
        Ok(())
    }
}
