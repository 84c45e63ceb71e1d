//! Document repositories, common to all engines: resolves names, embeds questions, ranks results and cuts out lines.

mod changed;
mod chunk;
#[cfg(feature = "postgres")]
mod detected;
pub(crate) mod engine;
#[cfg(feature = "postgres")]
mod existing;
mod lines;
mod nearest;
mod search;
pub(crate) mod tables;

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
    utc_time,
};

#[cfg(feature = "postgres")]
use self::detected::DetectedTables;
#[cfg(feature = "postgres")]
pub use self::detected::{DocumentTables, PostgresDocumentsConfig};
use self::{engine::DocumentEngine, tables::RepositoryTables};
use crate::{
    embedding::{EmbeddingTask, TextSource},
    engine::StoreHealth,
    engine::VectorStore,
    nearest::nearest_names,
    sql::Database,
    sql::sqlite::SqliteDatabase,
};

pub struct DocumentLibrary {
    engine: LibraryEngine,
    embedding: EmbeddingTask,
    clock: Arc<dyn Clock>,
}

#[derive(Clone)]
enum LibraryEngine {
    Sqlite(Arc<RepositoryTables>),
    /// The engine depends on the tables of the server.
    #[cfg(feature = "postgres")]
    Postgres(Arc<DetectedTables>),
}

impl LibraryEngine {
    async fn get(&self) -> Result<Arc<dyn DocumentEngine>, Fault> {
        match self {
            Self::Sqlite(engine) => Ok(Arc::clone(engine) as _),
            #[cfg(feature = "postgres")]
            Self::Postgres(tables) => tables.engine().await,
        }
    }
}

#[async_trait]
impl TextSource for LibraryEngine {
    async fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        self.get().await?.chunk_texts(keys).await
    }
}

impl DocumentLibrary {
    /// Creates a library in a SQLite file that the first call opens. With an embedder, search also compares meaning;
    /// calls then need a Tokio runtime for the embedding task.
    pub fn sqlite(database: PathBuf, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let db = SqliteDatabase::new(&tables::schema::FILE, database);
        let engine = Arc::new(RepositoryTables::new(Database::Sqlite(Arc::new(db))));
        let vectors = engine.vectors();
        Self::with_engine(LibraryEngine::Sqlite(engine), vectors, clock, embedder)
    }

    /// Creates a library on a PostgreSQL server. The first call connects.
    #[cfg(feature = "postgres")]
    pub fn postgres(
        config: PostgresDocumentsConfig,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let tables = Arc::new(DetectedTables::new(config));
        Self::with_engine(LibraryEngine::Postgres(Arc::clone(&tables)), tables, clock, embedder)
    }

    fn with_engine(
        engine: LibraryEngine,
        vectors: Arc<dyn VectorStore>,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let embedding = EmbeddingTask::new(embedder, vectors, Arc::new(engine.clone()));
        Self { engine, embedding, clock }
    }

    /// Checks the connection and returns the schema version and counts. Changes nothing.
    pub async fn health(&self) -> Result<StoreHealth, Fault> {
        let health = self.engine.get().await?.health(self.embedding.model().as_ref()).await?;
        Ok(self.embedding.add_health(health))
    }

    /// Closes the library permanently and checkpoints a database file.
    pub async fn close(&self) {
        self.embedding.stop().await;
        match &self.engine {
            LibraryEngine::Sqlite(engine) => engine.close().await,
            #[cfg(feature = "postgres")]
            LibraryEngine::Postgres(_) => {}
        }
    }

    async fn resolve_name(&self, repository: &str) -> Result<String, Fault> {
        if let Some(name) = self.engine.get().await?.stored_name(repository).await? {
            return Ok(name);
        }
        let names: Vec<String> = self
            .engine
            .get()
            .await?
            .repositories(false)
            .await?
            .into_iter()
            .map(|repository| repository.name)
            .collect();
        Err(unknown_repository(repository, &names))
    }
}

#[async_trait]
impl DocumentReader for DocumentLibrary {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.engine.get().await?.repositories(guides).await
    }

    async fn search(
        &self,
        repository: &str,
        query: &str,
        mode: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault> {
        let name = self.resolve_name(repository).await?;
        let mut result = self.find(name.clone(), query, mode, limit.max(1)).await?;
        if !result.hits.is_empty()
            && let Some(state) = self.engine.get().await?.state(&name).await?
            && let Some(changed) = changed::note(state, &result.hits).await
        {
            let notes: Vec<String> = result.note.into_iter().chain([changed]).collect();
            result.note = Some(notes.join(" "));
        }
        Ok(result)
    }

    async fn read(&self, repository: &str, path: &str, lines: Option<LineRange>) -> Result<Document, Fault> {
        let name = self.resolve_name(repository).await?;
        match self.engine.get().await?.file(&name, path).await? {
            Some(file) => lines::document(name, file, lines),
            None => {
                let heads = self.engine.get().await?.heads(&name).await?;
                if let Some(path) = nearest::same_path(path, &heads)
                    && let Some(file) = self.engine.get().await?.file(&name, &path).await?
                {
                    return lines::document(name, file, lines);
                }
                Err(nearest::unknown_path(&name, path, heads).await)
            }
        }
    }
}

#[async_trait]
impl DocumentStore for DocumentLibrary {
    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        match self.engine.get().await?.stored_name(repository).await? {
            Some(name) => self.engine.get().await?.state(&name).await,
            None => Ok(None),
        }
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        let name = &state.repository.name;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(Fault::invalid("repository name is empty or contains control characters"));
        }
        let now = utc_time::rfc3339(self.clock.now_ms());
        let mut state = state.clone();
        // Lookups ignore case, so keep the stored spelling.
        if let Some(name) = self.engine.get().await?.stored_name(name).await? {
            state.repository.name = name;
        }
        state.repository.created_at = Some(now.clone());
        state.repository.updated_at = Some(now);
        self.engine.get().await?.put_state(&state).await
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        let name = self.resolve_name(repository).await?;
        self.engine.get().await?.heads(&name).await
    }

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        let name = self.resolve_name(repository).await?;
        self.engine.get().await?.change(&name, put, remove).await?;
        self.embedding.wake();
        Ok(())
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        match self.engine.get().await?.stored_name(repository).await? {
            Some(name) => self.engine.get().await?.remove(&name).await,
            None => Ok(false),
        }
    }

    async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.embedding.wait_for_vectors(limit).await
    }
}

/// Returns the fault for an unknown repository. `stored_names` are the existing names.
pub(crate) fn unknown_repository(requested_name: &str, stored_names: &[String]) -> Fault {
    let requested_name: String = requested_name.chars().take(200).collect();
    let missing = format!("repository '{requested_name}' not found");
    match nearest_names(&requested_name, stored_names).join(", ") {
        suggestions if suggestions.is_empty() => Fault::not_found(missing)
            .hint("Run `gatehouse docs add <directory>` to index a directory or checkout."),
        suggestions => Fault::not_found(format!("{missing}; nearest: {suggestions}")),
    }
}
