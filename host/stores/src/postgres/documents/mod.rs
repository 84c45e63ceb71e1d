//! Documents on a PostgreSQL server: in tables of our own, or in those that another program keeps, which are only read.

mod existing;
mod own;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use gatehouse_core::{
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

/// The engine's name in configuration and faults.
pub(crate) const NAME: &str = "postgres";

/// Whose server it is, for faults.
const SUBJECT: &str = "document store 'postgres'";

/// Which tables documents are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DocumentTables {
    /// Those that are there: ours, else another program's `repositories` and `repository_files`, else new ones of ours.
    #[default]
    Detect,
    /// Ours, in the schema `gatehouse`.
    Own,
    /// `repositories` and `repository_files` of another program, which are never changed.
    Existing,
}

/// Where documents are on a PostgreSQL server.
#[derive(Clone)]
pub struct PostgresDocumentsConfig {
    /// The server and the database there.
    pub server: PostgresConfig,
    /// The tables.
    pub tables: DocumentTables,
    /// Counts the tokens of documents in tables that do not say them.
    pub tokens: Arc<dyn TokenCounter>,
}

/// The engine: whichever tables are used.
pub(crate) struct PostgresDocuments {
    tables: Arc<ChosenTables>,
}

/// The tables, and which of them are used once that is known.
struct ChosenTables {
    configured: DocumentTables,
    own: Arc<OwnTables>,
    existing: Arc<ExistingTables>,
    /// Ours, or the existing ones, once one of both was found.
    found: Mutex<Option<bool>>,
}

impl PostgresDocuments {
    /// An engine on this server, which is reached on first use.
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
        let known = *self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.configured, known) {
            (DocumentTables::Own, _) => Ok(true),
            (DocumentTables::Existing, _) => Ok(false),
            (DocumentTables::Detect, Some(own)) => Ok(own),
            (DocumentTables::Detect, None) => {
                let own = !self.existing.has_only_existing().await?;
                *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(own);
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

/// Nothing waits for a vector that another program makes.
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

    async fn store(&self, model: &VectorModel, made: Vec<NewVector>) -> Result<(), Fault> {
        match self.own.vectors() {
            Some(vectors) if self.use_own().await? => vectors.store(model, made).await,
            _ => Ok(()),
        }
    }
}
