//! Document engine on tables of gatehouse: full-text search by document, vectors by chunk if the server has pgvector.

mod put;
mod read;
mod search;
mod write;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    hash::sha256_hex,
    outcome::Fault,
    ports::documents::{FileHead, NewFile, Repository, RepositoryState},
};

use super::super::{
    error::count,
    server::PostgresServer,
    session::PostgresSession,
    terms::storable,
    vectors::{PgvectorState, PostgresVectors},
};
use crate::{
    documents::engine::{CHUNKS, DocumentCandidates, DocumentEngine, DocumentQuestion, StoredFile},
    embedding::VectorModel,
    engine::StoreHealth,
};

/// Bytes of an indexed name or path. An index row can hold about 2,700.
const MAX_INDEXED_BYTES: usize = 1_000;

pub(super) struct OwnTables {
    server: Arc<PostgresServer>,
    pub(super) vectors: PostgresVectors,
}

impl OwnTables {
    pub(super) fn new(server: Arc<PostgresServer>) -> Self {
        let vectors = PostgresVectors::new(Arc::clone(&server), CHUNKS);
        Self { server, vectors }
    }
}

/// Returns the comparison key of a name or a path. A long one is shortened and gets its hash appended.
fn index_key(text: &str) -> Cow<'_, str> {
    let text = storable(text);
    if text.len() <= MAX_INDEXED_BYTES {
        return text;
    }
    let end = text.floor_char_boundary(MAX_INDEXED_BYTES);
    format!("{}/{}", &text[..end], sha256_hex(text.as_bytes())).into()
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

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let counts = async |db: &PostgresSession, health: &mut StoreHealth| {
            let sql = "SELECT count(*), coalesce(sum(files), 0)::bigint, coalesce(sum(items), 0)::bigint
                 FROM gatehouse.repository";
            let row = db.one(sql, &[]).await?;
            (health.repositories, health.items) = (count(&row, 0)?, count(&row, 1)?);
            health.without_vector = count(&row, 2)?;
            Ok(())
        };
        self.vectors.health(model, counts).await
    }
}
