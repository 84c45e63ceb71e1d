//! Documents on a PostgreSQL server, in tables of gatehouse or, read-only, in those of another program.

mod existing;
mod own;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gatehouse_core::{
    lock,
    outcome::Fault,
    ports::{
        documents::{FileHead, NewFile, Repository, RepositoryState},
        text::TokenCounter,
    },
};

use self::{existing::ExistingTables, own::OwnTables};
use super::{
    PostgresConfig, migrations,
    server::{PostgresServer, ServerTables},
};
use crate::{
    documents::engine::{
        DocumentCandidates, DocumentEngine, DocumentHealth, DocumentQuestion, FixedVectors, StoredFile,
    },
    embedding::{NewVector, VectorItem, VectorModel, VectorStore, WaitingItem},
};

pub(crate) const NAME: &str = "postgres";

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

pub(crate) struct PostgresDocuments {
    tables: Arc<ChosenTables>,
}

/// The configured choice of tables and its resolution.
struct ChosenTables {
    configured: DocumentTables,
    own: Arc<OwnTables>,
    existing: Arc<ExistingTables>,
    /// True for tables of gatehouse. `None` until detected.
    found: Mutex<Option<bool>>,
}

impl PostgresDocuments {
    pub(crate) fn new(config: PostgresDocumentsConfig) -> Self {
        let PostgresDocumentsConfig { server, tables: configured, tokens } = config;
        let own = PostgresServer::new(SUBJECT, server.clone(), ServerTables::Own(migrations::DOCUMENTS));
        let existing = PostgresServer::new(SUBJECT, server, ServerTables::Foreign);
        let tables = ChosenTables {
            configured,
            own: Arc::new(OwnTables::new(Arc::new(own))),
            existing: Arc::new(ExistingTables::new(existing, tokens)),
            found: Mutex::default(),
        };
        Self { tables: Arc::new(tables) }
    }

    async fn engine(&self) -> Result<Arc<dyn DocumentEngine>, Fault> {
        Ok(if self.tables.use_own().await? {
            Arc::clone(&self.tables.own) as _
        } else {
            Arc::clone(&self.tables.existing) as _
        })
    }
}

impl ChosenTables {
    async fn use_own(&self) -> Result<bool, Fault> {
        let known = *lock(&self.found);
        match (self.configured, known) {
            (DocumentTables::Own, _) => Ok(true),
            (DocumentTables::Existing, _) => Ok(false),
            (DocumentTables::Detect, Some(own)) => Ok(own),
            (DocumentTables::Detect, None) => {
                let own = !self.existing.has_only_existing().await?;
                *lock(&self.found) = Some(own);
                Ok(own)
            }
        }
    }
}

#[async_trait]
impl DocumentEngine for PostgresDocuments {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.engine().await?.repositories(guides).await
    }

    async fn stored_name(&self, repository: &str) -> Result<Option<String>, Fault> {
        self.engine().await?.stored_name(repository).await
    }

    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        self.engine().await?.state(repository).await
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        self.engine().await?.put_state(state).await
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        self.engine().await?.heads(repository).await
    }

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        self.engine().await?.change(repository, put, remove).await
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        self.engine().await?.remove(repository).await
    }

    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault> {
        self.engine().await?.file(repository, path).await
    }

    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault> {
        self.engine().await?.candidates(question).await
    }

    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        self.engine().await?.chunk_texts(keys).await
    }

    fn vectors(&self) -> Option<Arc<dyn VectorStore>> {
        if self.tables.configured == DocumentTables::Existing {
            return None;
        }
        Some(Arc::clone(&self.tables) as _)
    }

    async fn fixed_vectors(&self) -> Result<Option<FixedVectors>, Fault> {
        self.engine().await?.fixed_vectors().await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<DocumentHealth, Fault> {
        self.engine().await?.health(model).await
    }
}

/// The other program makes the vectors of existing tables, so these never wait.
#[async_trait]
impl VectorStore for ChosenTables {
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault> {
        match self.own.vectors() {
            Some(vectors) if self.use_own().await? => vectors.waiting(model, after, limit).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        match self.own.vectors() {
            Some(store) if self.use_own().await? => store.put(model, vectors).await,
            _ => Ok(()),
        }
    }
}
