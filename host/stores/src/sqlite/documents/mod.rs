//! Document engine on SQLite, with FTS5 and chunk vectors. It has its own file, so that indexing never delays edits of
//! the knowledge graph.

mod chunk_vectors;
mod read;
mod search;
mod write;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{FileHead, NewFile, Repository, RepositoryState},
};
use rusqlite::Connection;

use self::chunk_vectors::ChunkVectorCache;
use super::{
    copy::DataFile,
    db::{Database, DatabaseProfile},
    session::SqliteSession,
    statements::CachedStatements as _,
};
use crate::{
    documents::engine::{DocumentCandidates, DocumentEngine, DocumentQuestion, StoredFile, match_name},
    embedding::{VectorModel, VectorStore},
    engine::StoreHealth,
};

/// Long enough for several batches of another process that indexes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct SqliteDocuments {
    db: Arc<Database>,
    cache: Arc<ChunkVectorCache>,
}

impl SqliteDocuments {
    pub(crate) fn new(path: PathBuf) -> Self {
        let profile = DatabaseProfile::BusyTimeout(BUSY_TIMEOUT);
        let db = Database::with_profile(DataFile::Documents, path, profile);
        Self { db: Arc::new(db), cache: Arc::default() }
    }

    pub(crate) fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.db) as _
    }

    pub(crate) async fn close(&self) {
        self.db.close().await;
    }
}

#[async_trait]
impl DocumentEngine for SqliteDocuments {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.db.read(move |db| read::repositories(db, guides)).await
    }

    async fn stored_name(&self, repository: &str) -> Result<Option<String>, Fault> {
        let names =
            |db: &Connection| db.column::<_, Vec<String>>("SELECT name FROM repository ORDER BY name", []);
        Ok(match_name(repository, self.db.read(names).await?.into_iter()))
    }

    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        let name = repository.to_owned();
        self.db.read(move |db| read::state(db, &name)).await
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        let state = state.clone();
        self.db.write(move |db| write::put_state(db, &state)).await
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        let name = repository.to_owned();
        self.db.read(move |db| read::heads(db, &name)).await
    }

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        let name = repository.to_owned();
        self.db.write(move |db| write::change(db, &name, &put, &remove)).await
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        let name = repository.to_owned();
        self.db.write(move |db| write::remove(db, &name)).await
    }

    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault> {
        let (name, path) = (repository.to_owned(), path.to_owned());
        self.db.read(move |db| read::file(db, &name, &path)).await
    }

    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault> {
        let (question, cache) = (Arc::clone(question), Arc::clone(&self.cache));
        self.db.read(move |db| search::candidates(db, &cache, &question)).await
    }

    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(move |db| read::chunk_texts(db, &keys)).await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = |db: &SqliteSession, health: &mut StoreHealth| {
            let db = db.connection();
            health.repositories = db.value("SELECT count(*) FROM repository", [])?;
            health.items = db.value("SELECT count(*) FROM file", [])?;
            Ok(())
        };
        self.db.health(model, count).await
    }
}
