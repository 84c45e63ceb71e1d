//! Artifact engine on SQLite. It has its own file, because temporary data must not delay or bloat permanent data, and
//! because the cap applies to the file.

mod read;
mod search;
mod words;
mod write;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::artifacts::{Artifact, ArtifactFilter},
};
use rusqlite::Connection;

use super::{
    copy::DataFile,
    db::{Database, DatabaseProfile},
    vector_cache::VectorCache,
    vectors,
};
use crate::{
    artifacts::engine::{
        ARTIFACTS, ArtifactCandidates, ArtifactEngine, ArtifactEngineHealth, ArtifactQuestion, ArtifactSpan,
        NewArtifact, OwnerScope, PackedText, RowEdit, StorageLimit,
    },
    embedding::{VectorModel, VectorStore},
};

pub(crate) struct SqliteArtifacts {
    db: Arc<Database>,
    cache: Arc<VectorCache>,
}

impl SqliteArtifacts {
    pub(crate) fn new(path: PathBuf) -> Self {
        let db = Database::with_profile(DataFile::Artifacts, path, DatabaseProfile::Temporary);
        Self { db: Arc::new(db), cache: Arc::new(VectorCache::new(ARTIFACTS)) }
    }
}

#[async_trait]
impl ArtifactEngine for SqliteArtifacts {
    async fn put(&self, new: NewArtifact, cap: &StorageLimit) -> Result<Artifact, Fault> {
        let cap = cap.clone();
        self.db.write_or_exhausted(move |db| write::put(db, new, &cap)).await
    }

    async fn info(&self, scope: &OwnerScope, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let (scope, ids) = (scope.clone(), ids.to_vec());
        let work = move |db: &_| {
            let Some(owner) = read::owner(db, &scope.owner)? else { return Ok(vec![None; ids.len()]) };
            let one =
                |id: &String| Ok(read::by_id(db, owner, id, scope.now)?.map(read::StoredArtifact::artifact));
            ids.iter().map(one).collect()
        };
        self.db.read(work).await
    }

    async fn read(
        &self,
        scope: &OwnerScope,
        id: &str,
        span: ArtifactSpan,
    ) -> Result<Option<PackedText>, Fault> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.db.read(move |db| read::text(db, &scope, &id, span)).await
    }

    async fn recent(
        &self,
        scope: &OwnerScope,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        let (scope, filter) = (scope.clone(), filter.clone());
        self.db.read(move |db| read::recent(db, &scope, &filter, limit)).await
    }

    async fn candidates(&self, question: &Arc<ArtifactQuestion>) -> Result<ArtifactCandidates, Fault> {
        let (question, cache) = (Arc::clone(question), Arc::clone(&self.cache));
        self.db.read(move |db| search::candidates(db, &cache, &question)).await
    }

    async fn without_subject(&self, now: i64, limit: usize) -> Result<Vec<(String, String)>, Fault> {
        if !self.db.exists().await {
            return Ok(Vec::new());
        }
        self.db.read(move |db| read::without_subject(db, now, limit)).await
    }

    async fn change(&self, scope: &OwnerScope, id: &str, edit: RowEdit) -> Result<Option<Artifact>, Fault> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.db.write(move |db| write::change(db, &scope, &id, edit)).await
    }

    async fn delete(&self, scope: &OwnerScope, id: &str) -> Result<bool, Fault> {
        let (scope, id) = (scope.clone(), id.to_owned());
        self.db.write(move |db| write::delete(db, &scope, &id)).await
    }

    async fn sweep(&self, now: i64) -> Result<u64, Fault> {
        if !self.db.exists().await {
            return Ok(0);
        }
        self.db.write(move |db| write::sweep(db, now, write::MAX_SWEPT)).await
    }

    async fn reclaim_space(&self) -> Result<(), Fault> {
        self.db.write(words::optimize).await?;
        self.db.reclaim_space().await
    }

    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(move |db| keys.iter().map(|key| read::text_to_embed(db, key)).collect()).await
    }

    async fn identity(&self) -> Result<String, Fault> {
        self.db.read(|db| Ok(db.query_row("SELECT name FROM store", [], |row| row.get(0))?)).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.db) as _
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<ArtifactEngineHealth, Fault> {
        let address = self.db.path().display().to_string();
        let empty = ArtifactEngineHealth { engine: "sqlite", address, ..Default::default() };
        let (mut health, model) = (empty.clone(), model.cloned());
        let work = move |db: &Connection, (schema, latest)| {
            health.schema = Some((schema, latest));
            // The first write or read migrates an older schema.
            if schema == latest {
                health.artifacts = db.query_row("SELECT count(*) FROM artifact", [], |row| row.get(0))?;
                health.bytes = read::bytes(db)?;
                if let Some(model) = model {
                    health.waiting = vectors::count_waiting(db, ARTIFACTS, &model)?;
                }
            }
            Ok(health)
        };
        Ok(self.db.inspect(work).await?.unwrap_or(empty))
    }

    async fn close(&self) {
        self.db.close().await;
    }
}
