//! Making text fit, and counting what it costs.

use crate::{outcome::Fault, page::MatchQuality};

/// Text that was made to fit a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextExtract {
    /// What is left, in the order of the document, with a mark on a line of its own for each gap.
    pub text: String,
    /// Tokens (o200k_base) of the whole text.
    pub tokens_in: u32,
    /// Tokens (o200k_base) of `text`.
    pub tokens_out: u32,
    /// Whether anything was left out.
    pub shortened: bool,
    /// How well the text answers the query; none where there was none.
    pub fit: Option<MatchQuality>,
}

/// A text in a form that takes fewer tokens and leaves nothing out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactText {
    /// The form; its first line says how to read it where that is not plain.
    pub text: String,
    /// Tokens (o200k_base) of the text that came in.
    pub tokens_in: u32,
    /// Tokens (o200k_base) of `text`.
    pub tokens_out: u32,
}

/// A document told in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentDigest {
    /// The whole digest, as text for a reader.
    pub text: String,
    /// What stands out, three to five sentences where the document and the budget allow, the most telling
    /// first. A `text` that was shortened begins with them, each as `- sentence`.
    pub findings: Vec<String>,
    /// What the document was taken for, in the words that a reader sees: `JSON`, `log` …
    pub kind: &'static str,
    /// Tokens (o200k_base) of the document.
    pub tokens_in: u32,
    /// Tokens (o200k_base) of `text`.
    pub tokens_out: u32,
    /// Whether anything was left out.
    pub shortened: bool,
}

/// The compressors that work without a language model. CPU-bound: callers run them off the runtime.
pub trait TextCompressor: Send + Sync {
    /// Tokens (o200k_base) of a text, exactly.
    fn count(&self, text: &str) -> u32;

    /// Keeps what answers `query` within `budget` tokens (o200k_base), and uses nearly all of them; an empty
    /// query, or one that nothing in the text has to do with, keeps what is central, early and recurrent.
    /// The same text gives the same extract. Faults when the budget is too small to hold anything.
    fn extract(&self, text: &str, query: &str, budget: u32) -> Result<TextExtract, Fault>;

    /// The same said in fewer tokens, with nothing left out; none where there is no such form, or where it is no shorter.
    /// The same text gives the same form.
    fn compact(&self, text: &str) -> Option<CompactText>;

    /// Tells a document of any kind within `budget` tokens (o200k_base): what it is made of, what is frequent and what is
    /// unusual, and what matches `query` (which may be empty). A document that fits comes back as it is. The same
    /// document gives the same digest.
    ///
    /// # Errors
    /// `invalid-arguments` where the budget is too small for anything.
    fn digest(&self, document: &str, query: &str, budget: u32) -> Result<DocumentDigest, Fault>;
}

/// The encodings that token counts are given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TokenEncoding {
    /// `o200k_base`, the default; an estimate for models with other tokenizers.
    #[default]
    O200k,
    /// `cl100k_base`.
    Cl100k,
}

/// Counts tokens as a model would.
pub trait TokenCounter: Send + Sync {
    /// Tokens of `text`, exactly.
    fn count(&self, text: &str, encoding: TokenEncoding) -> usize;
    /// Tokens of `text`, or none as soon as there are more than `limit`.
    fn count_up_to(&self, text: &str, limit: usize, encoding: TokenEncoding) -> Option<usize>;
    /// As much of the beginning of `text` as its first `limit` tokens are, in whole characters.
    fn token_prefix<'a>(&self, text: &'a str, limit: usize, encoding: TokenEncoding) -> &'a str;
}
