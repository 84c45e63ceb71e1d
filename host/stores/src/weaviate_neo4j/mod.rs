//! The knowledge engine on two servers: Neo4j keeps the pages and their links, Weaviate finds pages by words and
//! by meaning.
//!
//! Neo4j is the truth: one transaction stores pages, and writes down with them what Weaviate has yet to see.
//! Weaviate's collection is made from it and can be made again, so no failure of either half, and no crash between
//! them, leaves anything lost; it is only found a little later, and search says so.

mod background;
mod bring;
mod config;
mod embedding;
mod half;
mod neo4j;
mod search;
mod vectors;
mod weaviate;
mod words;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    page::{Filters, Neighbour, Page, SearchResult, Statistics},
    ports::Embedder,
};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

use self::{
    background::Background,
    bring::{Bringer, Left},
    embedding::Embedding,
    neo4j::{Neo4j, SCHEMA, Stage, State},
    search::{Outcome, Search},
    weaviate::Weaviate,
};
use crate::{
    engine::{Applied, EmbeddingHealth, Engine, Head, Health, Plan, Scope},
    wiki::record::Record,
};

pub use config::{Timing, WeaviateNeo4jConfig};

/// The engine's name in configuration, index files and counts.
pub(crate) const NAME: &str = "weaviate-neo4j";

/// How long a call that stored pages waits until they can be found. What takes longer goes on behind it.
const AFTER_WRITING: Duration = Duration::from_secs(60);

/// How long a search waits for pages that Weaviate has not seen.
const BEFORE_SEARCHING: Duration = Duration::from_secs(3);

/// How often it is asked whether another host is done.
const POLL: Duration = Duration::from_millis(100);

/// The engine.
pub(crate) struct WeaviateNeo4jEngine {
    neo4j: Arc<Neo4j>,
    weaviate: Arc<Weaviate>,
    embedding: Arc<Embedding>,
    background: Background,
}

impl WeaviateNeo4jEngine {
    /// Opens nothing yet.
    ///
    /// # Errors
    /// `invalid-arguments`, where an address cannot be used, naming its variable.
    pub(crate) fn new(config: &WeaviateNeo4jConfig, model: Option<Arc<dyn Embedder>>) -> Result<Self, Fault> {
        let neo4j = Arc::new(Neo4j::new(config)?);
        let weaviate = Arc::new(Weaviate::new(config)?);
        let embedding = Arc::new(Embedding::new(model));
        let background = Background::new(Bringer {
            neo4j: Arc::clone(&neo4j),
            weaviate: Arc::clone(&weaviate),
            embedding: Arc::clone(&embedding),
            timing: config.timing,
            holder: name_of_this_host(),
            looked: watch::Sender::new(false),
        });
        Ok(Self { neo4j, weaviate, embedding, background })
    }

    /// The state, after what waits was given the time to be brought.
    async fn settled(&self, before: State) -> Result<State, Fault> {
        self.background.look(BEFORE_SEARCHING).await?;
        let state = self.neo4j.state().await?.unwrap_or(before);
        if state.waiting == 0 {
            if state.queued > 0 && self.background.failing().is_none() {
                self.background.ask();
            }
            return Ok(state);
        }
        if let Some(Err(fault)) = self.background.wait(BEFORE_SEARCHING).await {
            return Err(fault);
        }
        Ok(self.neo4j.state().await?.unwrap_or(state))
    }

    async fn found(
        &self,
        state: &State,
        (query, filters, limit): (&str, &Filters, usize),
    ) -> Result<Outcome, Fault> {
        let Self { neo4j, weaviate, embedding, .. } = self;
        Search { neo4j, weaviate, embedding, state }.run(query, filters, limit).await
    }

    /// After pages were stored: they are, whatever becomes of this.
    async fn bring(&self) {
        match self.background.wait(AFTER_WRITING).await {
            Some(Ok(_)) => {}
            Some(Err(fault)) => tracing::warn!(%fault, "pages are stored, and wait to be found by search"),
            None => tracing::info!("pages are stored, and still on their way to Weaviate"),
        }
    }
}

/// A name that no other host that shares the graph has.
fn name_of_this_host() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{}-{:016x}{:016x}", std::process::id(), random(), random())
}

#[async_trait]
impl Engine for WeaviateNeo4jEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([
            ("neo4j_uri".to_owned(), Value::from(self.neo4j.address())),
            ("weaviate_url".to_owned(), Value::from(self.weaviate.address())),
            ("weaviate_collection".to_owned(), Value::from(weaviate::MAIN.name())),
        ])
    }

    async fn search(&self, query: &str, filters: &Filters, limit: usize) -> Result<SearchResult, Fault> {
        self.neo4j.checked().await?;
        let Some(state) = self.neo4j.state().await? else { return Ok(SearchResult::default()) };
        let mut state = self.settled(state).await?;
        let found = match self.found(&state, (query, filters, limit)).await {
            Ok(found) => found,
            // Its collection may be gone: a pass makes it anew, or says why Weaviate cannot be asked.
            Err(_) => {
                if let Some(Err(fault)) = self.background.wait(BEFORE_SEARCHING).await {
                    return Err(fault);
                }
                state = self.neo4j.state().await?.unwrap_or(state);
                self.found(&state, (query, filters, limit)).await?
            }
        };
        // Vectors that were kept, or few, are there soon; a rebuild that is under way is not waited for.
        if !found.other_space || state.stage != Stage::Steady || self.background.failing().is_some() {
            return Ok(found.result);
        }
        self.background.wait(BEFORE_SEARCHING).await;
        let state = self.neo4j.state().await?.unwrap_or(state);
        Ok(self.found(&state, (query, filters, limit)).await?.result)
    }

    async fn page(&self, id_or_title: &str) -> Result<Option<Page>, Fault> {
        self.neo4j.named(id_or_title).await
    }

    async fn heads(&self, scope: &Scope) -> Result<Vec<Head>, Fault> {
        self.neo4j.heads(scope).await
    }

    async fn titled(&self, title: &str) -> Result<Vec<String>, Fault> {
        self.neo4j.titled(title).await
    }

    async fn domains(&self, asked: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        self.neo4j.checked().await?;
        self.neo4j.domains(asked).await
    }

    async fn neighbours(&self, id: &str) -> Result<Vec<Neighbour>, Fault> {
        self.neo4j.neighbours(id).await
    }

    async fn record(&self, id: &str) -> Result<Option<Record>, Fault> {
        self.neo4j.record(id).await
    }

    async fn apply(&self, plan: Arc<Plan>) -> Result<Applied, Fault> {
        let applied = self.neo4j.apply(plan).await?;
        if let Applied::Done = applied {
            self.bring().await;
        }
        Ok(applied)
    }

    async fn stats(&self) -> Result<Statistics, Fault> {
        self.neo4j.statistics(NAME).await
    }

    async fn settle(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        loop {
            match self.background.wait(until.saturating_duration_since(Instant::now())).await {
                Some(Ok(Left::Nothing)) => return true,
                // The host that is at it may be gone; its claim runs out.
                Some(Ok(Left::Elsewhere)) if Instant::now() < until => tokio::time::sleep(POLL).await,
                _ => return false,
            }
        }
    }

    async fn health(&self) -> Result<Health, Fault> {
        let (schema, ()) = tokio::try_join!(self.neo4j.schema(), self.weaviate.ping())?;
        let state = if schema.is_some() { self.neo4j.state().await? } else { None };
        let pages = if schema.is_some() { self.neo4j.statistics(NAME).await?.pages } else { 0 };
        let queued = state.as_ref().map_or(0, |state| state.queued);
        Ok(Health {
            engine: NAME,
            address: format!("{} and {}", self.neo4j.address(), self.weaviate.address()),
            schema: schema.map(|found| (found, SCHEMA)),
            pages,
            waiting: state.map_or(0, |state| state.waiting),
            embedding: self.embedding.model().map(|model| EmbeddingHealth {
                model: model.to_owned(),
                waiting: queued,
                failing: self.background.failing(),
            }),
        })
    }
}
