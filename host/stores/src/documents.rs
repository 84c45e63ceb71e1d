//! Repositories of documents on an engine: names are resolved, questions embedded, answers put in order and lines cut
//! out here, once for every engine. Nothing here reads a folder.

pub(crate) mod chunk;
pub(crate) mod engine;
mod lines;
mod nearest;
mod prefix_queries;
mod search;

pub(crate) use prefix_queries::PrefixQuery;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{
        Clock, DocumentReader, Embedder,
        documents::{
            Document, DocumentSearchResult, DocumentStore, FileHead, LineRange, NewFile, Repository,
            RepositoryState, SearchMode,
        },
    },
};

use self::{
    chunk::ChunkTexts,
    engine::{DocumentEngine, DocumentHealth},
};
#[cfg(feature = "postgres")]
use crate::postgres::{PostgresDocumentsConfig, documents::PostgresDocuments};
use crate::{
    embedding::{EmbeddingTask, NewVector, VectorItem, VectorModel, VectorStore, WaitingItem},
    engine::EmbeddingHealth,
    nearest::nearest_names,
    sqlite::documents::SqliteDocuments,
    wiki::rfc3339,
};

/// Repositories of documents.
pub struct DocumentLibrary {
    engine: Arc<dyn DocumentEngine>,
    embedding: Option<EmbeddingTask>,
    clock: Arc<dyn Clock>,
}

/// How a library is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryHealth {
    /// Its store.
    pub store: DocumentHealth,
    /// The model by which documents are found by meaning, with how many chunks wait for their vectors; none where they
    /// are found by words alone.
    pub embedding: Option<EmbeddingHealth>,
}

impl DocumentLibrary {
    /// On SQLite, in this file. Opens nothing before the first call that needs it. With an embedder documents are found
    /// by meaning too; calls have to be made inside a Tokio runtime, where their vectors are made in the background.
    pub fn sqlite(database: PathBuf, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self::with_engine(Arc::new(SqliteDocuments::new(database)), clock, embedder)
    }

    /// On a PostgreSQL server. Reaches nothing before the first call that needs it; for the rest as
    /// [`DocumentLibrary::sqlite`].
    #[cfg(feature = "postgres")]
    pub fn postgres(
        config: PostgresDocumentsConfig,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self::with_engine(Arc::new(PostgresDocuments::new(config)), clock, embedder)
    }

    /// On any engine.
    pub(crate) fn with_engine(
        engine: Arc<dyn DocumentEngine>,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let embedding = embedder.map(|embedder| {
            let store = engine.vectors().unwrap_or_else(|| Arc::new(ForeignVectors));
            EmbeddingTask::new(embedder, store, Arc::new(ChunkTexts(Arc::clone(&engine))))
        });
        Self { engine, embedding, clock }
    }

    /// Whether the engine can be reached, its schema and how much it holds; changes nothing there.
    ///
    /// # Errors
    /// `unavailable`, naming the engine, its address and the cause.
    pub async fn health(&self) -> Result<LibraryHealth, Fault> {
        let model = self.embedding.as_ref().map(EmbeddingTask::vectors);
        let store = self.engine.health(model.as_ref()).await?;
        let embedding = self.embedding.as_ref().map(|embedding| EmbeddingHealth {
            model: embedding.model().to_owned(),
            waiting: store.waiting,
            failing: store.no_vectors.clone().or_else(|| embedding.failing()),
        });
        Ok(LibraryHealth { store, embedding })
    }

    /// Ends the use of it for good, for hosts and commands that stop; a database in a file is then whole in it.
    pub async fn close(&self) {
        if let Some(embedding) = &self.embedding {
            embedding.stop();
        }
        self.engine.close().await;
    }

    /// How a repository is spelled.
    ///
    /// # Errors
    /// `not-found` with the nearest names.
    async fn resolve_name(&self, repository: &str) -> Result<String, Fault> {
        if let Some(name) = self.engine.stored_name(repository).await? {
            return Ok(name);
        }
        let all: Vec<String> =
            self.engine.repositories(false).await?.into_iter().map(|repository| repository.name).collect();
        Err(unknown_repository(repository, &all))
    }
}

#[async_trait]
impl DocumentReader for DocumentLibrary {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.engine.repositories(guides).await
    }

    async fn search(
        &self,
        repository: &str,
        query: &str,
        mode: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault> {
        let name = self.resolve_name(repository).await?;
        self.find(name, query, mode, limit.max(1)).await
    }

    async fn read(&self, repository: &str, path: &str, lines: Option<LineRange>) -> Result<Document, Fault> {
        let name = self.resolve_name(repository).await?;
        match self.engine.file(&name, path).await? {
            Some(file) => lines::document(name, file, lines),
            None => {
                let heads = self.engine.heads(&name).await?;
                Err(nearest::unknown_path(&name, path, heads).await)
            }
        }
    }
}

#[async_trait]
impl DocumentStore for DocumentLibrary {
    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        match self.engine.stored_name(repository).await? {
            Some(name) => self.engine.state(&name).await,
            None => Ok(None),
        }
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        let name = &state.repository.name;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(Fault::invalid("the name of a repository is empty or holds control characters"));
        }
        let now = rfc3339(self.clock.now_ms());
        let mut state = state.clone();
        // Two that differ in case only would be one to whoever asks.
        if let Some(name) = self.engine.stored_name(name).await? {
            state.repository.name = name;
        }
        state.repository.created_at = Some(now.clone());
        state.repository.updated_at = Some(now);
        self.engine.put_state(&state).await
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        let name = self.resolve_name(repository).await?;
        self.engine.heads(&name).await
    }

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        let name = self.resolve_name(repository).await?;
        self.engine.change(&name, put, remove).await?;
        if let Some(embedding) = &self.embedding {
            embedding.wake();
        }
        Ok(())
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        match self.engine.stored_name(repository).await? {
            Some(name) => self.engine.remove(&name).await,
            None => Ok(false),
        }
    }

    async fn wait_for_vectors(&self, limit: Duration) -> bool {
        match &self.embedding {
            Some(embedding) => embedding.wait_for_vectors(limit).await,
            None => true,
        }
    }
}

/// What is said where there is no such repository; `all` are those that there are.
pub(crate) fn unknown_repository(asked: &str, all: &[String]) -> Fault {
    let asked: String = asked.chars().take(200).collect();
    let missing = format!("There is no repository '{asked}'.");
    match nearest_names(&asked, all).join(", ") {
        near if near.is_empty() => Fault::not_found(missing)
            .hint("`gatehouse docs add <folder>` makes a repository of a folder or checkout."),
        near => Fault::not_found(format!("{missing} Nearest: {near}.")),
    }
}

/// Stands for vectors that another program makes: nothing waits for one here.
struct ForeignVectors;

#[async_trait]
impl VectorStore for ForeignVectors {
    async fn waiting(
        &self,
        _model: &VectorModel,
        _after: Option<&VectorItem>,
        _limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault> {
        Ok(Vec::new())
    }

    async fn store(&self, _model: &VectorModel, _vectors: Vec<NewVector>) -> Result<(), Fault> {
        Ok(())
    }
}
