//! Text compression and token counts.

use crate::{Fault, page::MatchQuality};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextExtract {
    /// The extract, in document order, with a mark on its own line for each gap.
    pub text: String,
    /// Tokens (o200k_base) of the whole text.
    pub tokens_in: u32,
    pub tokens_out: u32,
    pub shortened: bool,
    /// How well the text matches the query. `None` without a query.
    pub fit: Option<MatchQuality>,
}

/// A lossless form of a text that takes fewer tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactText {
    pub text: String,
    pub tokens_in: u32,
    pub tokens_out: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentDigest {
    pub text: String,
    /// Three to five notable sentences if document and budget allow, most significant first.
    ///
    /// A shortened `text` begins with them, each as `- sentence`.
    pub findings: Vec<String>,
    /// Detected kind of document, for display: `JSON`, `log` …
    pub kind: &'static str,
    pub tokens_in: u32,
    pub tokens_out: u32,
    pub shortened: bool,
}

/// Text compressors without a language model. CPU-bound: call them off the runtime. All are deterministic.
pub trait TextCompressor: Send + Sync {
    /// Returns the exact number of tokens (o200k_base).
    fn count(&self, text: &str) -> u32;

    /// Extracts the parts that match `query`, filling the `budget` of tokens (o200k_base).
    ///
    /// Without a match or a query, retains central, early and recurrent parts. Fails if the budget is too small.
    fn extract(&self, text: &str, query: &str, budget: u32) -> Result<TextExtract, Fault>;

    /// Returns a lossless form with fewer tokens. `None` if there is none.
    fn compact(&self, text: &str) -> Option<CompactText>;

    /// Summarizes a document of any kind within `budget` tokens (o200k_base).
    ///
    /// The digest covers the structure, frequent and unusual parts, and matches of `query`, which may be empty. A
    /// document that fits is returned as it is.
    ///
    /// # Errors
    ///
    /// `invalid-arguments` if the budget is too small.
    fn digest(&self, document: &str, query: &str, budget: u32) -> Result<DocumentDigest, Fault>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenEncoding {
    /// `o200k_base`, the default; an estimate for models with other tokenizers.
    #[default]
    O200k,
    Cl100k,
}

/// A tokenizer that counts exactly.
pub trait TokenCounter: Send + Sync {
    fn count(&self, text: &str, encoding: TokenEncoding) -> usize;
    /// Returns the number of tokens. `None` if there are more than `limit`.
    fn count_up_to(&self, text: &str, limit: usize, encoding: TokenEncoding) -> Option<usize>;
    /// Returns the first `limit` tokens of `text`, in whole characters.
    fn token_prefix<'a>(&self, text: &'a str, limit: usize, encoding: TokenEncoding) -> &'a str;
}
