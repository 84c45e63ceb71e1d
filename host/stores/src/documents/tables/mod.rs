//! Documents in tables of gatehouse, on SQLite or PostgreSQL: full-text search by document, vectors by chunk.

mod chunk_vectors;
mod put;
mod read;
pub(crate) mod schema;
mod search;
#[cfg(feature = "postgres")]
mod terms;
mod words;
mod write;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    hash::sha256_hex,
    outcome::Fault,
    ports::documents::{FileHead, NewFile, Repository, RepositoryState},
};

use self::{chunk_vectors::ChunkVectorCache, put::PreparedFile};
use super::engine::{CHUNKS, DocumentCandidates, DocumentEngine, DocumentQuestion, StoredFile, match_name};
use crate::{
    engine::{StoreHealth, VectorModel, VectorStore},
    sql::{Database, Session, Turn, vectors::Vectors},
    worker::run_blocking,
};

/// Bytes of an indexed name or path. An index row of PostgreSQL can hold about 2,700.
const MAX_INDEXED_BYTES: usize = 1_000;

pub(super) struct RepositoryTables {
    db: Database,
    vectors: Arc<Vectors>,
    cache: Arc<ChunkVectorCache>,
}

impl RepositoryTables {
    pub(super) fn new(db: Database) -> Self {
        Self { vectors: Arc::new(Vectors::new(&db, CHUNKS)), db, cache: Arc::default() }
    }

    pub(super) fn vectors(&self) -> Arc<dyn VectorStore> {
        self.vectors.store()
    }

    pub(super) async fn close(&self) {
        self.db.close().await;
    }
}

/// Returns the comparison key of a name or a path. A long one is shortened and gets its hash appended.
fn index_key(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_INDEXED_BYTES {
        return text.into();
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

/// Returns the file number in the key of an item.
fn file_of_item(key: &str) -> Option<i64> {
    i64::from_str_radix(key.split('/').nth(1)?, 16).ok()
}

/// Returns the exclusive end of the key range of a prefix that ends with `/`.
fn after_prefix(prefix: &str) -> String {
    format!("{}0", prefix.trim_end_matches('/'))
}

#[async_trait]
impl DocumentEngine for RepositoryTables {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.db.read(async move |db: Session<'_>| read::repositories(db, guides).await).await
    }

    async fn stored_name(&self, repository: &str) -> Result<Option<String>, Fault> {
        let sql = "SELECT name FROM repository ORDER BY name";
        let names: Vec<String> = self.db.read(async move |db: Session<'_>| db.column(sql, &[]).await).await?;
        Ok(match_name(repository, names.into_iter()))
    }

    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault> {
        let name = repository.to_owned();
        self.db.read(async move |db: Session<'_>| read::state(db, &name).await).await
    }

    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault> {
        let (turn, state) = (turn(&state.repository.name), state.clone());
        self.db.write(&[turn], async move |db: Session<'_>| write::put_state(db, &state).await).await
    }

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault> {
        let name = repository.to_owned();
        self.db.read(async move |db: Session<'_>| read::heads(db, &name).await).await
    }

    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault> {
        // Prepares files before the transaction, in which other writers wait.
        let with_terms = !self.db.has_one_writer();
        let prepare = move || put.into_iter().map(|file| PreparedFile::new(file, with_terms)).collect();
        let files: Vec<PreparedFile> = run_blocking(prepare).await?;
        let (name, vectors) = (repository.to_owned(), Arc::clone(&self.vectors));
        let change = async move |db: Session<'_>| write::change(db, &vectors, &name, &files, &remove).await;
        self.db.write(&[turn(repository)], change).await
    }

    async fn remove(&self, repository: &str) -> Result<bool, Fault> {
        let name = repository.to_owned();
        let remove = async move |db: Session<'_>| write::remove(db, &name).await;
        self.db.write(&[turn(repository)], remove).await
    }

    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault> {
        let (name, path) = (repository.to_owned(), path.to_owned());
        self.db.read(async move |db: Session<'_>| read::file(db, &name, &path).await).await
    }

    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault> {
        let (question, vectors) = (Arc::clone(question), Arc::clone(&self.vectors));
        let cache = Arc::clone(&self.cache);
        let find = async move |db: Session<'_>| words::candidates(db, &vectors, &cache, &question).await;
        self.db.read(find).await
    }

    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(async move |db: Session<'_>| read::chunk_texts(db, &keys).await).await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = async |db: Session<'_>, health: &mut StoreHealth| {
            let sql = "SELECT count(*), CAST(coalesce(sum(files), 0) AS bigint), CAST(coalesce(sum(items), 0) AS bigint)
                FROM repository";
            let counts = db.first(sql, &[], |row| Ok((row.count(0)?, row.count(1)?, row.count(2)?))).await?;
            (health.repositories, health.items, health.without_vector) = counts.unwrap_or_default();
            Ok(())
        };
        self.vectors.health(model, count).await
    }
}

/// Returns the turn of the writes of a repository.
fn turn(repository: &str) -> Turn<'_> {
    Turn::Key("documents", repository)
}
