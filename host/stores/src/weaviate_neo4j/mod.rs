//! Knowledge engine on two servers: Neo4j stores pages and finds them by words and by name; Weaviate has their vectors.
//!
//! Neo4j records which vectors Weaviate has, and in which collection. A failure of Weaviate therefore loses no page:
//! searches use words only and say so, and the vectors of a lost collection are made again.

mod config;
mod neo4j;
mod search;
mod tokenizer;
mod vectors;
mod weaviate;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
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

use self::{
    neo4j::{Neo4jClient, SCHEMA},
    weaviate::WeaviateClient,
};
use crate::{
    engine::{
        PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, StoreHealth, VectorModel, VectorStore,
        WriteOutcome, WritePlan,
    },
    wiki::record::PageRecord,
};

pub use config::{RemoteTimeouts, WeaviateNeo4jConfig};

pub(crate) const NAME: &str = "weaviate-neo4j";

/// Time that a write waits for Weaviate to delete vectors of removed pages.
const MAX_REMOVAL_WAIT: Duration = Duration::from_secs(10);

pub(crate) struct WeaviateNeo4jEngine(Arc<ServerPair>);

struct ServerPair {
    neo4j: Arc<Neo4jClient>,
    weaviate: WeaviateClient,
    /// Ids of the collections that this process has checked.
    checked: Mutex<HashSet<String>>,
}

impl WeaviateNeo4jEngine {
    /// Creates an engine without connecting.
    ///
    /// # Errors
    ///
    /// Returns `invalid-arguments` with the name of the variable if an address is invalid.
    pub(crate) fn new(config: &WeaviateNeo4jConfig) -> Result<Self, Fault> {
        let (neo4j, weaviate) = (Arc::new(Neo4jClient::new(config)?), WeaviateClient::new(config)?);
        Ok(Self(Arc::new(ServerPair { neo4j, weaviate, checked: Mutex::default() })))
    }
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
        match self.0.neo4j.graph_id().await? {
            Some(graph) => self.0.candidates(&graph, question).await,
            None => Ok(PageCandidates::default()),
        }
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        let (outcome, removed) = self.0.neo4j.apply(plan).await?;
        if !removed.is_empty() {
            // A search drops the vectors that are left.
            match tokio::time::timeout(MAX_REMOVAL_WAIT, self.0.remove_vectors(&removed)).await {
                Ok(Ok(())) => {}
                Ok(Err(fault)) => tracing::warn!(%fault, "vectors of removed pages are still in Weaviate"),
                Err(_) => tracing::warn!("vectors of removed pages are still in Weaviate, which is slow"),
            }
        }
        Ok(outcome)
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.0) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.0.neo4j.statistics(NAME).await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let ServerPair { neo4j, weaviate, .. } = &*self.0;
        let schema = neo4j.schema().await?;
        let mut health = StoreHealth {
            engine: NAME,
            address: format!("{} and {}", neo4j.address(), weaviate.address()),
            schema: schema.map(|version| (version, SCHEMA)),
            ..StoreHealth::default()
        };
        if let Err(fault) = weaviate.ping().await {
            health.no_vectors = Some(fault.message);
        }
        if schema.is_some() {
            health.items = neo4j.statistics(NAME).await?.pages;
        }
        if let (Some(model), Some(graph)) = (model, neo4j.graph_id().await?) {
            health.without_vector = match &health.no_vectors {
                None => self.0.without_vector(&graph, model).await?,
                Some(_) => health.items,
            };
        }
        Ok(health)
    }
}
