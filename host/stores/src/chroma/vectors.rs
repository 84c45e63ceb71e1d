//! An artifact engine that stores vectors in ChromaDB and everything else in another engine.
//!
//! The other engine records stored vectors, without the numbers, under a model name that contains the id of the
//! collection. It therefore knows which items wait, and recomputes the vectors of a lost collection. It also checks
//! owner, expiry and version of search results, so outdated vectors in ChromaDB do not matter.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::artifacts::{Artifact, ArtifactFilter},
};
use serde_json::{Value, json};

use super::{ChromaConfig, client::ChromaClient};
use crate::{
    artifacts::engine::{
        ArtifactCandidates, ArtifactEngine, ArtifactEngineHealth, ArtifactQuestion, ArtifactSpan,
        NearestItem, NewArtifact, OwnerScope, PackedText, RowEdit, StorageLimit, item_prefix,
    },
    embedding::{NewVector, VectorItem, VectorModel, VectorStore, WaitingItem},
};

const ID_BATCH: usize = 500;

struct ChromaVectors {
    chroma: ChromaClient,
    engine: Arc<dyn ArtifactEngine>,
}

pub(crate) struct ArtifactsInChroma {
    engine: Arc<dyn ArtifactEngine>,
    vectors: Arc<ChromaVectors>,
    /// True if ChromaDB may have vectors of deleted artifacts.
    outdated: AtomicBool,
}

impl ArtifactsInChroma {
    pub(crate) fn new(engine: Arc<dyn ArtifactEngine>, config: ChromaConfig) -> Self {
        let vectors = ChromaVectors { chroma: ChromaClient::new(config), engine: Arc::clone(&engine) };
        Self { engine, vectors: Arc::new(vectors), outdated: AtomicBool::new(true) }
    }
}

impl ChromaVectors {
    /// Returns the model name under which the engine records stored vectors.
    async fn engine_model(&self, model: &VectorModel) -> Result<VectorModel, Fault> {
        let collection = self.chroma.collection().await?;
        Ok(VectorModel { name: format!("{} in ChromaDB {collection}", model.name), dimension: None })
    }

    async fn nearest(&self, question: &ArtifactQuestion) -> Result<Option<Vec<NearestItem>>, Fault> {
        let Some(vector) = &question.vector else { return Ok(None) };
        let store = self.engine.identity().await?;
        let owner = item_prefix(&question.scope.owner);
        let filter = json!({"$and": [
            {"store": {"$eq": store}}, {"owner": {"$eq": owner}}, {"model": {"$eq": vector.model}},
        ]});
        let near = self.chroma.nearest(&vector.values, &filter, question.pool).await?;
        let item = |near: super::client::VectorMatch| {
            let key = key_of(&near.id, &store)?.to_owned();
            Some(NearestItem { key, version: near.version, cosine: 1.0 - near.distance })
        };
        Ok(Some(near.into_iter().filter_map(item).collect()))
    }

    async fn remove_stale_vectors(&self) -> Result<(), Fault> {
        let store = self.engine.identity().await?;
        let ids = self.chroma.ids(&json!({"store": {"$eq": store}})).await?;
        for ids in ids.chunks(ID_BATCH) {
            let keys: Vec<String> =
                ids.iter().map(|id| key_of(id, &store).unwrap_or_default().to_owned()).collect();
            let there = self.engine.texts_to_embed(&keys).await?;
            let gone = ids.iter().zip(there).filter(|(_, text)| text.is_none());
            let gone: Vec<String> = gone.map(|(id, _)| id.clone()).collect();
            if !gone.is_empty() {
                self.chroma.delete(&gone).await?;
            }
        }
        Ok(())
    }
}

/// Returns the item key in a ChromaDB id, which is `{store}{key}/{model}`.
fn key_of<'a>(id: &'a str, store: &str) -> Option<&'a str> {
    let rest = id.strip_prefix(store)?;
    let number = rest.get(1..)?.find('/')? + 2;
    let end = number + rest.get(number..)?.find('/')?;
    rest.get(..end)
}

#[async_trait]
impl VectorStore for ChromaVectors {
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault> {
        let noted = self.engine_model(model).await?;
        self.engine.vectors().waiting(&noted, after, limit).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let (noted, store) = (self.engine_model(model).await?, self.engine.identity().await?);
        let (mut ids, mut values, mut about): (Vec<String>, Vec<&Vec<f32>>, Vec<Value>) = Default::default();
        for new in &vectors {
            // The model returned no vector, so only record the item.
            let Some(value) = &new.vector else { continue };
            let key = &new.item.key;
            let owner = key.rfind('/').map_or("", |end| &key[..=end]);
            ids.push(format!("{store}{key}/{}", model.name));
            values.push(value);
            about.push(json!({"store": store, "owner": owner, "model": model.name, "version": new.version}));
        }
        if !ids.is_empty() {
            self.chroma.upsert(&ids, &values, &about).await?;
        }
        let notes = vectors.into_iter().map(|new| NewVector { vector: None, ..new }).collect();
        self.engine.vectors().put(&noted, notes).await
    }
}

#[async_trait]
impl ArtifactEngine for ArtifactsInChroma {
    async fn put(&self, new: NewArtifact, cap: &StorageLimit) -> Result<Artifact, Fault> {
        self.engine.put(new, cap).await
    }

    async fn info(&self, scope: &OwnerScope, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        self.engine.info(scope, ids).await
    }

    async fn read(
        &self,
        scope: &OwnerScope,
        id: &str,
        span: ArtifactSpan,
    ) -> Result<Option<PackedText>, Fault> {
        self.engine.read(scope, id, span).await
    }

    async fn recent(
        &self,
        scope: &OwnerScope,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        self.engine.recent(scope, filter, limit).await
    }

    async fn candidates(&self, question: &Arc<ArtifactQuestion>) -> Result<ArtifactCandidates, Fault> {
        let near = self.vectors.nearest(question).await;
        let (near, failed) = near.map_or_else(|fault| (None, Some(fault.message)), |near| (near, None));
        let ArtifactQuestion { scope, query, limit, pool, .. } = &**question;
        let question = ArtifactQuestion {
            scope: scope.clone(),
            query: query.clone(),
            vector: None,
            near: near.unwrap_or_default(),
            limit: *limit,
            pool: *pool,
        };
        let mut found = self.engine.candidates(&Arc::new(question)).await?;
        if failed.is_some() {
            // ChromaDB may have lost its vectors.
            found.without_vector = 1;
            found.words_only_reason = failed;
        }
        Ok(found)
    }

    async fn without_subject(&self, now: i64, limit: usize) -> Result<Vec<(String, String)>, Fault> {
        self.engine.without_subject(now, limit).await
    }

    async fn change(&self, scope: &OwnerScope, id: &str, edit: RowEdit) -> Result<Option<Artifact>, Fault> {
        self.engine.change(scope, id, edit).await
    }

    async fn delete(&self, scope: &OwnerScope, id: &str) -> Result<bool, Fault> {
        let deleted = self.engine.delete(scope, id).await?;
        self.outdated.fetch_or(deleted, Ordering::Relaxed);
        Ok(deleted)
    }

    async fn sweep(&self, now: i64) -> Result<u64, Fault> {
        let swept = self.engine.sweep(now).await?;
        if swept > 0 {
            self.outdated.store(true, Ordering::Relaxed);
            return Ok(swept);
        }
        // Do not connect if nothing was ever stored.
        if self.outdated.load(Ordering::Relaxed) && self.engine.health(None).await?.schema.is_some() {
            self.outdated.store(false, Ordering::Relaxed);
            if let Err(fault) = self.vectors.remove_stale_vectors().await {
                self.outdated.store(true, Ordering::Relaxed);
                tracing::warn!("cannot remove the vectors of deleted artifacts yet: {}", fault.message);
            }
        }
        Ok(0)
    }

    async fn reclaim_space(&self) -> Result<(), Fault> {
        self.engine.reclaim_space().await
    }

    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        self.engine.texts_to_embed(keys).await
    }

    async fn identity(&self) -> Result<String, Fault> {
        self.engine.identity().await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<ArtifactEngineHealth, Fault> {
        let Some(model) = model else { return self.engine.health(None).await };
        match self.vectors.engine_model(model).await {
            Ok(noted) => self.engine.health(Some(&noted)).await,
            Err(fault) => {
                let health = self.engine.health(None).await?;
                let waiting = health.artifacts;
                Ok(ArtifactEngineHealth { waiting, no_vectors: Some(fault.message), ..health })
            }
        }
    }

    async fn close(&self) {
        self.engine.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::engine::item_key;

    #[test]
    fn keys_are_found_in_ids() {
        let key = item_key("named:ann/x", 42);
        assert_eq!(key_of(&format!("store{key}/openai/text-3 recipe 1"), "store"), Some(key.as_str()));
        for id in ["", "store", "store/", "store/x/", "store/x/7", "other/x/7/m"] {
            assert_eq!(key_of(id, "store"), None, "{id}");
        }
    }
}
