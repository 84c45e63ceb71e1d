//! What is embedded, and where the vectors are kept: by corpus and key. A corpus is all of one kind that is searched
//! by meaning, wiki pages for example; what its texts are, its own module knows.

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;

/// Something that has a vector.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VectorItem {
    pub(crate) corpus: String,
    /// Names it within its corpus.
    pub(crate) key: String,
}

/// An item that waits for its vector.
#[derive(Debug, Clone)]
pub(crate) struct WaitingItem {
    pub(crate) item: VectorItem,
    /// Of its text; another text has another one.
    pub(crate) version: String,
}

/// A vector to be stored.
#[derive(Debug, Clone)]
pub(crate) struct NewVector {
    pub(crate) item: VectorItem,
    /// Of the text that was embedded; the vector is dropped where the item has another by now.
    pub(crate) version: String,
    /// None where the model has nothing to say.
    pub(crate) vector: Option<Vec<f32>>,
}

/// Whose vectors are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorModel {
    /// The name under which they are stored.
    pub(crate) name: String,
    /// Their dimension, where it is known.
    pub(crate) dimension: Option<usize>,
}

/// Where vectors are stored.
#[async_trait]
pub(crate) trait VectorStore: Send + Sync {
    /// The next items after this one, in order, that have no vector of this model, or one of another dimension.
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault>;

    /// Stores vectors of items that are still as they were.
    async fn store(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault>;
}

/// What knows the texts of a corpus.
#[async_trait]
pub(crate) trait TextSource: Send + Sync {
    /// The text of each item, in their order; none where it is gone.
    async fn texts(&self, items: &[VectorItem]) -> Result<Vec<Option<String>>, Fault>;
}
