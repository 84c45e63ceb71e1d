//! Hybrid search over pages, documents, tools and artifacts. Pure: does not access files, databases or models.
//!
//! 1. [`SearchQuery`] splits the question into words, and into [`grams`](script::grams) for scripts that the word index
//!    does not cover.
//! 2. The store applies filters, then scores documents by words (BM25) and by meaning ([`dense::VectorBlock`]).
//! 3. [`fuse`] combines both scores; exact and prefix [names](name::NameQuery) come first.
//! 4. [`near_enough`] and [`FitScorer`] decide which candidates are hits, and how well each answers.
//!
//! Results are deterministic across runs and machines: sums use a fixed order and keys break ties.

pub mod dense;
mod dot;
pub mod embedded;
pub mod fit;
pub mod fold;
pub mod fuse;
pub mod name;
pub mod script;
pub mod stem;
pub mod terms;
pub mod tools;

pub use dense::{RowSet, VectorBlock};
pub use embedded::embedded_text;
pub use fit::{FitScorer, Passage, near_enough};
pub use fold::{composed, search_key};
pub use fuse::{RankedCandidate, ScoredCandidate, fuse, matching_candidates, split_matching};
pub use name::{NameMatch, NameQuery};
pub use stem::stem;
pub use terms::{SearchQuery, for_each_term, variants};

/// Minimum number of candidates to score in full. Rescoring 50 in full precision loses nothing against an exact scan of
/// 1 M rows of 256 dimensions.
pub const MIN_CANDIDATE_POOL: usize = 50;
