//! Documents on a PostgreSQL server, in tables of gatehouse or, read-only, in those of another program.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gatehouse_core::{lock, outcome::Fault, ports::text::TokenCounter};

use super::{engine::DocumentEngine, existing::ExistingTables, tables::RepositoryTables};
use crate::{
    engine::{NewVector, VectorItem, VectorModel, VectorStore},
    sql::Database,
    sql::postgres::{PostgresConfig, PostgresServer, ServerTables},
};

const SUBJECT: &str = "document store 'postgres'";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentTables {
    /// Existing tables of gatehouse; else another program's `repositories` and `repository_files`; else new tables of
    /// gatehouse.
    #[default]
    Detect,
    /// Tables of gatehouse, in the schema `gatehouse`.
    Own,
    /// Another program's `repositories` and `repository_files`, read-only.
    Existing,
}

#[derive(Clone)]
pub struct PostgresDocumentsConfig {
    pub server: PostgresConfig,
    pub tables: DocumentTables,
    /// Counts the tokens of documents in existing tables, which do not store them.
    pub tokens: Arc<dyn TokenCounter>,
}

/// The configured choice of tables and its resolution.
pub(super) struct DetectedTables {
    configured: DocumentTables,
    own: Arc<RepositoryTables>,
    existing: Arc<ExistingTables>,
    /// True for tables of gatehouse. `None` until detected.
    found: Mutex<Option<bool>>,
}

impl DetectedTables {
    pub(super) fn new(config: PostgresDocumentsConfig) -> Self {
        let PostgresDocumentsConfig { server, tables: configured, tokens } = config;
        let own_server =
            PostgresServer::new(SUBJECT, server.clone(), ServerTables::Own(super::tables::schema::PART));
        let existing_server = PostgresServer::new(SUBJECT, server, ServerTables::Foreign);
        Self {
            configured,
            own: Arc::new(RepositoryTables::new(Database::Postgres(own_server))),
            existing: Arc::new(ExistingTables::new(existing_server, tokens)),
            found: Mutex::default(),
        }
    }

    pub(super) async fn engine(&self) -> Result<Arc<dyn DocumentEngine>, Fault> {
        Ok(if self.use_own().await? { Arc::clone(&self.own) as _ } else { Arc::clone(&self.existing) as _ })
    }

    async fn use_own(&self) -> Result<bool, Fault> {
        let cached_answer = *lock(&self.found);
        match (self.configured, cached_answer) {
            (DocumentTables::Own, _) => Ok(true),
            (DocumentTables::Existing, _) => Ok(false),
            (DocumentTables::Detect, Some(uses_own)) => Ok(uses_own),
            (DocumentTables::Detect, None) => {
                let uses_own = !self.existing.has_only_existing().await?;
                *lock(&self.found) = Some(uses_own);
                Ok(uses_own)
            }
        }
    }
}

/// The other program makes the vectors of existing tables, so these never wait.
#[async_trait]
impl VectorStore for DetectedTables {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        if self.use_own().await? {
            self.own.vectors().waiting(model, after, max).await
        } else {
            Ok(Vec::new())
        }
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        if self.use_own().await? { self.own.vectors().put(model, vectors).await } else { Ok(()) }
    }
}
