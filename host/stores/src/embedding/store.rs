//! Interfaces between the embedding task and the stores. A corpus is one kind of searchable text, such as wiki pages.

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VectorItem {
    pub(crate) corpus: String,
    /// Unique within the corpus.
    pub(crate) key: String,
}

/// An item without a vector of the current model.
#[derive(Debug, Clone)]
pub(crate) struct WaitingItem {
    pub(crate) item: VectorItem,
    /// Identifies the item's text.
    pub(crate) version: String,
}

#[derive(Debug, Clone)]
pub(crate) struct NewVector {
    pub(crate) item: VectorItem,
    /// Identifies the embedded text. The vector is dropped if the item has another version by now.
    pub(crate) version: String,
    /// `None` if the model returned no vector for the text.
    pub(crate) vector: Option<Vec<f32>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorModel {
    pub(crate) name: String,
    /// `None` if not yet known.
    pub(crate) dimension: Option<usize>,
}

#[async_trait]
pub(crate) trait VectorStore: Send + Sync {
    /// Returns up to `limit` items after `after` that have no vector of this model or one of another dimension.
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault>;

    /// Stores vectors of items whose version is unchanged.
    async fn store(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault>;
}

/// Source of the texts to embed.
#[async_trait]
pub(crate) trait TextSource: Send + Sync {
    /// Returns the text of each item, in order. `None` if the item is gone.
    async fn texts(&self, items: &[VectorItem]) -> Result<Vec<Option<String>>, Fault>;
}
