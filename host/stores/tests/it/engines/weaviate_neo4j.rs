//! Weaviate and Neo4j: a fake Weaviate, and a real Bolt server.

mod bolt;
mod client;
mod crash;
mod fake;
mod proxy;
mod rebuild;
mod rest;
mod server;

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    Fault,
    http::Secret,
    ports::{Embedder, KnowledgeGraph as _, knowledge::PageFilters},
};
use gatehouse_stores::{RemoteTimeouts, WeaviateNeo4jConfig, WikiKnowledge, WikiRoots};

use self::{
    fake::Fake,
    server::{Database, PASSWORD},
};
use super::{Fixture, Setup};
use crate::{
    behaviours::behaviours,
    support::{House, clock},
};

struct WeaviateNeo4j {
    database: Database,
    fake: Fake,
}

impl WeaviateNeo4j {
    fn graph(&self, roots: WikiRoots, change: impl FnOnce(&mut WeaviateNeo4jConfig)) -> WikiKnowledge {
        let mut config = self.config();
        change(&mut config);
        WikiKnowledge::weaviate_neo4j(&config, roots, None, clock(), None).unwrap()
    }

    /// Opens the graph with a model.
    fn with_model(
        &self,
        model: Arc<dyn Embedder>,
        change: impl FnOnce(&mut WeaviateNeo4jConfig),
    ) -> WikiKnowledge {
        let mut config = self.config();
        change(&mut config);
        WikiKnowledge::weaviate_neo4j(&config, WikiRoots::Any, None, clock(), Some(model)).unwrap()
    }

    fn config(&self) -> WeaviateNeo4jConfig {
        WeaviateNeo4jConfig {
            weaviate_url: self.fake.url(),
            weaviate_api_key: None,
            neo4j_uri: format!("bolt://{}", self.database.bolt),
            neo4j_user: "root".into(),
            neo4j_password: Secret::new(PASSWORD),
            neo4j_database: Some(self.database.name.clone()),
            timing: RemoteTimeouts::default(),
        }
    }
}

impl Fixture for WeaviateNeo4j {
    const NAME: &'static str = "weaviate-neo4j";

    async fn fresh() -> Option<Self> {
        Some(Self { database: Database::fresh()?, fake: Fake::start() })
    }

    fn open(&self, Setup { roots, default_root, embedder }: Setup) -> WikiKnowledge {
        WikiKnowledge::weaviate_neo4j(&self.config(), roots, default_root, clock(), embedder).unwrap()
    }

    fn address(&self) -> String {
        format!("bolt://{}/{} and {}", self.database.bolt, self.database.name, self.fake.url())
    }
}

behaviours!(WeaviateNeo4j);

fn impatient(config: &mut WeaviateNeo4jConfig) {
    config.timing = RemoteTimeouts {
        connect: Duration::from_millis(700),
        request: Duration::from_millis(700),
        statement: Duration::from_millis(700),
        first_pause: Duration::from_millis(100),
        longest_pause: Duration::from_millis(200),
    };
}

async fn house() -> Option<House<WeaviateNeo4j>> {
    Some(House::small(WeaviateNeo4j::fresh().await?))
}

/// Retries until the call succeeds, as an agent would.
async fn in_the_end<T>(ask: impl AsyncFn() -> Result<T, Fault>) -> T {
    let mut last = None;
    let mut ticks = tokio::time::interval(Duration::from_millis(50));
    for _ in 0..400 {
        ticks.tick().await;
        match ask().await {
            Ok(answer) => return answer,
            Err(fault) => last = Some(fault),
        }
    }
    panic!("it does not recover: {last:?}");
}

/// Searches until all pages are found and have vectors.
async fn all_seen(graph: &WikiKnowledge) {
    in_the_end(async || match seen(graph).await? {
        (5, None) => Ok(()),
        other => Err(Fault::not_found(format!("{other:?}"))),
    })
    .await;
}

/// Searches for all pages. Returns the number of hits and the note.
async fn seen(graph: &WikiKnowledge) -> Result<(usize, Option<String>), Fault> {
    let found = graph.search("dough yeast oven kneading rest", &PageFilters::default(), 20).await?;
    Ok((found.hits.len(), found.note))
}
