//! PostgreSQL: a database per test, on a shared server if available.

mod artifacts;
mod audit;
mod copying;
mod crowded;
mod documents;
mod encryption;
mod keys;
mod kv;
mod ledger;
mod server;
mod state;
mod tools;
mod trouble;

use gatehouse_stores::{PostgresConfig, WikiKnowledge};

use self::server::Database;
use super::{Fixture, Setup};
use crate::{behaviours::behaviours, support::clock};

struct Postgres {
    database: Database,
}

impl Fixture for Postgres {
    const NAME: &'static str = "postgres";

    async fn fresh() -> Option<Self> {
        Some(Self { database: Database::fresh().await? })
    }

    fn open(&self, setup: Setup) -> WikiKnowledge {
        graph_on(&self.database.url(), setup)
    }

    fn address(&self) -> String {
        self.database.address()
    }
}

/// Schema versions that this build refuses, with the reason.
const OTHER_VERSIONS: [(u32, &str); 2] =
    [(999, "version 999 is newer than 101"), (2, "version 2 is from before gatehouse 0.1.0")];

fn graph_on(url: &str, setup: Setup) -> WikiKnowledge {
    graph_with(PostgresConfig::parse(url).unwrap(), setup)
}

fn graph_with(server: PostgresConfig, Setup { roots, default_root, embedder }: Setup) -> WikiKnowledge {
    WikiKnowledge::postgres(server, roots, default_root, clock(), embedder)
}

behaviours!(Postgres);
