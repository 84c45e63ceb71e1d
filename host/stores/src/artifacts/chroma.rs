//! Vectors of an artifact engine in ChromaDB.
//!
//! The engine records stored vectors, without the numbers, under a model name that contains the id of the collection.
//! It therefore knows which items wait, and recomputes the vectors of a lost collection. It also checks owner, expiry
//! and version of search results, so outdated vectors in ChromaDB do not matter.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;
use serde_json::{Value, json};

use super::{
    engine::{ArtifactQuestion, NearestItem, item_prefix},
    tables::ArtifactTables,
};
use crate::{
    chroma::{ChromaClient, ChromaConfig, VectorMatch},
    engine::StoreHealth,
    engine::{NewVector, VectorItem, VectorModel, VectorStore},
};

const ID_BATCH: usize = 500;

pub(crate) struct ChromaVectors {
    chroma: ChromaClient,
    tables: Arc<ArtifactTables>,
    /// True if ChromaDB may have vectors of deleted artifacts.
    outdated: AtomicBool,
}

impl ChromaVectors {
    pub(crate) fn new(tables: Arc<ArtifactTables>, config: ChromaConfig) -> Self {
        Self { chroma: ChromaClient::new(config), tables, outdated: AtomicBool::new(true) }
    }

    /// Returns the model name under which the engine records stored vectors.
    async fn engine_model(&self, model: &VectorModel) -> Result<VectorModel, Fault> {
        let collection = self.chroma.collection().await?;
        let noted = |name: &str| format!("{name} in ChromaDB {collection}");
        let searched = model.searched.as_deref().map(noted);
        Ok(VectorModel { name: noted(&model.name), dimension: None, searched })
    }

    /// Replaces the vector of a question by the items that are nearest to it. After a failure, the question has only
    /// its words.
    pub(crate) async fn find_nearest(&self, question: &mut ArtifactQuestion) -> Result<(), Fault> {
        let Some(vector) = question.vector.take() else { return Ok(()) };
        let store = self.tables.identity().await?;
        let owner = item_prefix(&question.scope.owner);
        let filter = json!({"$and": [
            {"store": {"$eq": store}}, {"owner": {"$eq": owner}}, {"model": {"$eq": vector.model}},
        ]});
        let matches = self.chroma.nearest(&vector.values, &filter, question.pool).await?;
        let item = |vector_match: VectorMatch| {
            let key = key_of(&vector_match.id, &store)?.to_owned();
            Some(NearestItem { key, version: vector_match.version, cosine: 1.0 - vector_match.distance })
        };
        question.near = matches.into_iter().filter_map(item).collect();
        Ok(())
    }

    /// Records whether artifacts were deleted.
    pub(crate) fn note_deletion(&self, deleted: bool) {
        self.outdated.fetch_or(deleted, Ordering::Relaxed);
    }

    /// Removes the vectors of deleted artifacts. A failure is retried by the next call.
    pub(crate) async fn sweep(&self) -> Result<(), Fault> {
        // Do not connect if nothing was ever stored.
        if self.outdated.load(Ordering::Relaxed) && self.tables.health(None).await?.schema.is_some() {
            self.outdated.store(false, Ordering::Relaxed);
            if let Err(fault) = self.remove_stale_vectors().await {
                self.outdated.store(true, Ordering::Relaxed);
                tracing::warn!("cannot remove the vectors of deleted artifacts yet: {}", fault.message);
            }
        }
        Ok(())
    }

    async fn remove_stale_vectors(&self) -> Result<(), Fault> {
        let store = self.tables.identity().await?;
        let ids = self.chroma.ids(&json!({"store": {"$eq": store}})).await?;
        for ids in ids.chunks(ID_BATCH) {
            let keys: Vec<String> =
                ids.iter().map(|id| key_of(id, &store).unwrap_or_default().to_owned()).collect();
            let texts = self.tables.texts_to_embed(&keys).await?;
            let stale_ids = ids.iter().zip(texts).filter(|(_, text)| text.is_none());
            let stale_ids: Vec<String> = stale_ids.map(|(id, _)| id.clone()).collect();
            if !stale_ids.is_empty() {
                self.chroma.delete(&stale_ids).await?;
            }
        }
        Ok(())
    }

    /// Returns the health of the engine with the state of these vectors.
    pub(crate) async fn health(&self, model: &VectorModel) -> Result<StoreHealth, Fault> {
        match self.engine_model(model).await {
            Ok(noted) => self.tables.health(Some(&noted)).await,
            Err(fault) => {
                let health = self.tables.health(None).await?;
                let (without_vector, no_vectors) = (health.items, Some(fault.message));
                Ok(StoreHealth { without_vector, no_vectors, ..health })
            }
        }
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
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        let noted = self.engine_model(model).await?;
        self.tables.vectors().waiting(&noted, after, max).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let (noted, store) = (self.engine_model(model).await?, self.tables.identity().await?);
        let (mut ids, mut values, mut about): (Vec<String>, Vec<&Vec<f32>>, Vec<Value>) = Default::default();
        for new in &vectors {
            // The model returned no vector, so only record the item.
            let Some(value) = &new.vector else { continue };
            let key = &new.item.key;
            let owner = key.rfind('/').map_or("", |end| &key[..=end]);
            ids.push(format!("{store}{key}/{}", model.name));
            values.push(value);
            about.push(
                json!({"store": store, "owner": owner, "model": model.name, "version": new.item.version}),
            );
        }
        if !ids.is_empty() {
            self.chroma.upsert(&ids, &values, &about).await?;
        }
        let notes = vectors.into_iter().map(|new| NewVector { vector: None, ..new }).collect();
        self.tables.vectors().put(&noted, notes).await
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
