//! Making vectors of texts.

use async_trait::async_trait;

use crate::outcome::Fault;

/// What a text is embedded for; some models embed the two sides of a search differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbeddingPurpose {
    /// What is looked for.
    Query,
    /// What is to be found.
    Document,
}

/// A vector of unit length, or none where the model has nothing to say about a text (no token of it is
/// known). None means "no dense score", never "similar to everything".
pub type EmbeddingVector = Option<Vec<f32>>;

/// A model that embeds texts.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// `provider/model`, for example `local/ghse-256`. Vectors of different names are not comparable, so a
    /// store keeps the name, and the dimension that it saw, beside them.
    fn model(&self) -> &str;

    /// One vector for each text, in their order; all have the same dimension.
    ///
    /// # Errors
    /// `unavailable`, `timed-out`, `denied` (the key) or `exhausted` (the quota), naming the provider and its
    /// address. All or nothing.
    async fn embed(&self, texts: &[String], purpose: EmbeddingPurpose)
    -> Result<Vec<EmbeddingVector>, Fault>;
}
