//! Document engine on tables of gatehouse: full-text search by document, vectors by chunk if the server has pgvector.

mod nearest_chunks;
mod put;
mod read;
mod search;
mod write;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{FileHead, NewFile, Repository, RepositoryState},
};
use sha2::{Digest as _, Sha256};

use super::{
    super::{
        error::StoreError,
        migrations,
        server::PostgresServer,
        session::PostgresSession,
        terms::storable,
        vectors::{PgvectorState, PostgresVectors},
    },
    NAME,
};
use crate::{
    documents::engine::{
        CHUNKS, DocumentCandidates, DocumentEngine, DocumentHealth, DocumentQuestion, StoredFile,
    },
    embedding::{VectorModel, VectorStore},
};

/// Bytes of an indexed name or path. An index row can hold about 2,700.
const MAX_INDEXED_BYTES: usize = 1_000;

pub(super) struct OwnTables {
    server: Arc<PostgresServer>,
    vectors: Arc<PostgresVectors>,
}

impl OwnTables {
    pub(super) fn new(server: Arc<PostgresServer>) -> Self {
        let vectors = Arc::new(PostgresVectors::new(Arc::clone(&server), CHUNKS));
        Self { server, vectors }
    }

    /// Runs outside a transaction, because it must not create tables.
    async fn inspect(
        &self,
        db: &PostgresSession,
        model: Option<&VectorModel>,
    ) -> Result<DocumentHealth, StoreError> {
        let version = migrations::DOCUMENTS.checked_version(db).await?;
        let latest = migrations::DOCUMENTS.latest();
        let mut health = DocumentHealth {
            engine: NAME,
            address: self.server.address().to_owned(),
            schema: version.map(|found| (found, latest)),
            ..DocumentHealth::default()
        };
        let current = version == Some(latest);
        let mut items = 0;
        if current {
            (health.repositories, health.files, items) = read::counts(db).await?;
        }
        let Some(model) = model else { return Ok(health) };
        health.waiting = items;
        match self.vectors.count_waiting(db, model, current, items).await? {
            Ok(waiting) => health.waiting = waiting,
            Err(why) => health.no_vectors = Some(why),
        }
        Ok(health)
    }
}

/// Returns the comparison key of a name or a path. A long one is shortened and gets its hash appended.
fn index_key(text: &str) -> Cow<'_, str> {
    let text = storable(text);
    if text.len() <= MAX_INDEXED_BYTES {
        return text;
    }
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let end = text.floor_char_boundary(MAX_INDEXED_BYTES);
    format!("{}/{hash}", &text[..end]).into()
}

/// Returns the key prefix of a repository's items. Items of one file are adjacent.
fn repository_prefix(repository: i64) -> String {
    format!("{repository:08x}/")
}

/// Returns the key of a chunk's item. With an empty version, this is the prefix of the file's items.
fn item_key(repository: i64, file: i64, version: &str) -> String {
    format!("{}{file:010x}/{version}", repository_prefix(repository))
}

/// Returns the exclusive end of the key range of a prefix that ends with `/`.
fn after_prefix(prefix: &str) -> String {
    format!("{}0", prefix.trim_end_matches('/'))
}

#[async_trait]
impl DocumentEngine for OwnTables {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.server.read_with(async |db| read::repositories(db, guides).await).await
    }

    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        self.server.read_with(async |db| read::state(db, repository).await).await
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        self.server.write_with(async |db| write::put_state(db, state).await).await
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        self.server.read_with(async |db| read::heads(db, repository).await).await
    }

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        let files = put::prepare_files(put).await?;
        let work = async |db: &_| {
            let with_vectors = matches!(self.vectors.inspect(db).await?, PgvectorState::Ready(_));
            write::change(db, repository, &files, &remove, with_vectors).await
        };
        self.server.write_with(work).await
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        self.server.write_with(async |db| write::remove(db, repository).await).await
    }

    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault> {
        self.server.read_with(async |db| read::file(db, repository, path).await).await
    }

    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault> {
        let work = async |db: &_| {
            let vectors = self.vectors.search(db, question.vector.as_ref()).await?;
            search::candidates(db, question, &vectors).await
        };
        self.server.read_with(work).await
    }

    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        self.server.read_with(async |db| read::chunk_texts(db, keys).await).await
    }

    fn vectors(&self) -> Option<Arc<dyn VectorStore>> {
        Some(Arc::clone(&self.vectors) as _)
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<DocumentHealth, Fault> {
        self.server.inspect_with(async |db| self.inspect(db, model).await).await
    }
}
