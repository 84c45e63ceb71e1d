//! Hybrid search, as one small library for everything that is searched: pages, documents, tools, artifacts.
//!
//! Pure: no file, no database, no model. A store brings candidates with what it knows of them, and gets them
//! back in order:
//!
//! 1. [`SearchQuery`] takes the question apart into words, and into [`grams`](script::grams) for scripts that the word
//!    index does not serve.
//! 2. The store scores documents by words (BM25) and by meaning ([`dense::VectorBlock`]), filters first.
//! 3. [`fuse`] puts both together, exact and prefix [names](name::NameQuery) first.
//! 4. [`near_enough`] and [`FitScorer`] say what is a hit at all, and how well it answers.
//!
//! The same candidates give the same order on every run and every machine: sums are made in one order, ties
//! are decided by the key.

pub mod dense;
mod dot;
pub mod embedded;
pub mod fit;
pub mod fuse;
pub mod name;
pub mod passage;
pub mod row_set;
pub mod script;
pub mod stem;
pub mod terms;
pub mod tools;

pub use dense::VectorBlock;
pub use embedded::embedded_text;
pub use fit::{FitScorer, near_enough};
pub use fuse::{RankedCandidate, ScoredCandidate, fuse, matching_candidates};
pub use name::{NameMatch, NameQuery};
pub use passage::Passage;
pub use row_set::RowSet;
pub use stem::stem;
pub use terms::{SearchQuery, for_each_term, variants};

/// How many of the best by words, and of the best by meaning, are looked at closely where fewer are asked
/// for. 50 rescored in full precision lose nothing against an exact scan of 1 M rows of 256 dimensions.
pub const MIN_CANDIDATE_POOL: usize = 50;
