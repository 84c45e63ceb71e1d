//! Weaviate and Neo4j: a fake of the first, a real server of the second's protocols.

mod fake;
mod proxy;
mod server;

use std::time::Duration;

use gatehouse_core::http::Secret;
use gatehouse_stores::{Timing, WeaviateNeo4jConfig, WikiKnowledge};

use self::{
    fake::Fake,
    server::{Database, PASSWORD},
};
use super::{Fixture, Setup};
use crate::{behaviours::behaviours, support::clock};

/// A database and a Weaviate of its own.
struct WeaviateNeo4j {
    database: Database,
    fake: Fake,
}

impl WeaviateNeo4j {
    fn config(&self) -> WeaviateNeo4jConfig {
        WeaviateNeo4jConfig {
            weaviate_url: self.fake.url(),
            weaviate_api_key: None,
            neo4j_uri: format!("bolt://{}", self.database.bolt),
            neo4j_user: "root".into(),
            neo4j_password: Secret::new(PASSWORD),
            neo4j_database: Some(self.database.name.clone()),
            timing: Timing { lease: Duration::from_secs(2), ..Timing::default() },
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
