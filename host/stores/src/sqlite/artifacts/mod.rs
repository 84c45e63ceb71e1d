//! Artifact engine on SQLite. It has its own file, because temporary data must not delay or bloat permanent data, and
//! because the cap applies to the file.

mod read;
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
    statements::CachedStatements as _,
    vector_cache::VectorCache,
};
use crate::{
    artifacts::{
        ArtifactLimits,
        engine::{
            ARTIFACTS, ArtifactCandidates, ArtifactEngine, ArtifactQuestion, ArtifactSpan, NewArtifact,
            OwnerHolding, OwnerScope, PackedText, RowEdit,
        },
    },
    embedding::{VectorModel, VectorStore},
    engine::StoreHealth,
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
    async fn put(&self, new: NewArtifact, limits: &ArtifactLimits) -> Result<Artifact, Fault> {
        let limits = limits.clone();
        self.db.write_or_exhausted(move |db| write::put(db, new, &limits)).await
    }

    async fn info(&self, scope: &OwnerScope, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let (scope, ids) = (scope.clone(), ids.to_vec());
        self.db.read(move |db| ids.iter().map(|id| read::info(db, &scope, id)).collect()).await
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
        self.db.read(move |db| read::candidates(db, &cache, &question)).await
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
        self.db.write(move |db| write::sweep(db, now)).await
    }

    async fn holding(&self, scope: &OwnerScope) -> Result<OwnerHolding, Fault> {
        if !self.db.exists().await {
            return Ok(OwnerHolding::default());
        }
        let scope = scope.clone();
        self.db.read(move |db| read::live_holding(db, &scope)).await
    }

    async fn erase(&self, owner: &str) -> Result<u64, Fault> {
        if !self.db.exists().await {
            return Ok(0);
        }
        let owner = owner.to_owned();
        self.db.write(move |db| write::erase(db, &owner)).await
    }

    async fn owners(&self) -> Result<Vec<(String, OwnerHolding)>, Fault> {
        if !self.db.exists().await {
            return Ok(Vec::new());
        }
        self.db.read(read::named_holdings).await
    }

    async fn reclaim_space(&self) -> Result<(), Fault> {
        self.db.write(write::optimize).await?;
        self.db.reclaim_space().await
    }

    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(move |db| keys.iter().map(|key| read::text_to_embed(db, key)).collect()).await
    }

    async fn identity(&self) -> Result<String, Fault> {
        self.db.read(|db| db.value("SELECT name FROM store", [])).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.db) as _
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = |db: &Connection, health: &mut StoreHealth| {
            health.items = db.value("SELECT count(*) FROM artifact", [])?;
            health.bytes = read::bytes(db)?;
            Ok(())
        };
        self.db.health(model, count).await
    }

    async fn close(&self) {
        self.db.close().await;
    }
}
