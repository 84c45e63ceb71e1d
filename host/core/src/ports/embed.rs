//! Text embedding.

use async_trait::async_trait;

use crate::Fault;

/// Purpose of an embedding. Some models embed queries and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbeddingPurpose {
    Query,
    Document,
}

/// A vector of unit length. `None` if the model knows no token of the text.
///
/// `None` means "no dense score", never "similar to everything".
pub type EmbeddingVector = Option<Vec<f32>>;

#[async_trait]
pub trait Embedder: Send + Sync {
    /// Returns `provider/model`, such as `local/ghse-256.2`.
    ///
    /// Vectors of different models are not comparable, so a store records this name and the dimension with them.
    fn model(&self) -> &str;

    /// Returns the name of an earlier edition of the model whose vectors are close enough to compare with. A store
    /// searches them until all items have new ones.
    fn earlier_edition(&self) -> Option<&str> {
        None
    }

    /// Embeds each text, in order. All vectors have the same dimension.
    ///
    /// # Errors
    ///
    /// `unavailable`, `timed-out`, `denied` (invalid key) or `exhausted` (quota), with the provider and its address.
    /// One error fails the whole batch.
    async fn embed(&self, texts: &[String], purpose: EmbeddingPurpose)
    -> Result<Vec<EmbeddingVector>, Fault>;
}
