//! The interface of a document engine. Callers convert files to text, cut chunks and rank results.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{FileHead, LineRange, NewFile, Repository, RepositoryState},
    search::{NameQuery, ScoredCandidate, SearchQuery},
};

use crate::engine::{PrefixQuery, QueryVector, StoreHealth, VectorModel};

pub(crate) const CHUNKS: &str = "chunk";

#[derive(Debug)]
pub(crate) struct DocumentQuestion {
    pub(crate) repository: String,
    pub(crate) query: SearchQuery,
    /// The question as it was asked.
    pub(crate) text: String,
    /// Prefixes that a document may match with longer words. Empty for a search for whole words.
    pub(crate) prefixes: Vec<PrefixQuery>,
    /// Compares with the path, the file name and its stem.
    pub(crate) name: NameQuery,
    /// `None` if the search uses words only.
    pub(crate) vector: Option<QueryVector>,
    pub(crate) limit: usize,
    /// Number of best documents, by name, words and vector each, to score in full. At least `limit`.
    pub(crate) pool: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct DocumentCandidate {
    /// Scores. The key is the path, and the cosine is that of the nearest chunk.
    pub(crate) scored: ScoredCandidate<String>,
    pub(crate) tokens: u32,
    /// Lines of the nearest chunk.
    pub(crate) best: Option<LineRange>,
    /// Headings and beginning of the document, to rate how well it fits.
    pub(crate) abstract_text: String,
}

/// The best documents by name, by words and by meaning, each with all three scores.
#[derive(Debug, Default)]
pub(crate) struct DocumentCandidates {
    pub(crate) candidates: Vec<DocumentCandidate>,
    /// Words of the question that no document of the repository contains.
    pub(crate) unmatched_terms: Vec<String>,
    /// Number of documents that have chunks without a vector of the question's model.
    pub(crate) without_vector: usize,
    /// Notes for the caller about how the candidates were found.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) made_from: Option<String>,
    pub(crate) tokens: u32,
}

/// A store of documents. Repository names and paths compare exactly. Faults are `unavailable` and name the engine and
/// its address.
#[async_trait]
pub(crate) trait DocumentEngine: Send + Sync {
    /// Returns every repository, sorted by name. Omits guides if `guides` is false.
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault>;

    /// Returns the stored spelling of a repository name: an exact match, or else one that ignores case.
    async fn stored_name(&self, repository: &str) -> Result<Option<String>, Fault> {
        let names = self.repositories(false).await?.into_iter().map(|repository| repository.name);
        Ok(match_name(repository, names))
    }

    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault>;

    /// Stores the state of a repository. An existing repository keeps its creation date.
    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault>;

    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault>;

    /// Stores and removes files in one transaction. A chunk whose text changes loses its vectors and waits for new
    /// ones.
    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault>;

    async fn remove(&self, repository: &str) -> Result<bool, Fault>;

    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault>;

    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault>;

    /// Returns the text to embed for each item key: heading path and chunk text. `None` if the chunk is gone.
    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault>;

    /// Returns the required dimension of question vectors. `None` if this host computes the vectors, so any model
    /// works.
    async fn fixed_vectors(&self) -> Result<Option<FixedVectors>, Fault> {
        Ok(None)
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault>;
}

/// Returns the name that equals `requested_name`, or else the first one that differs only in case.
pub(crate) fn match_name(requested_name: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let folded = requested_name.to_lowercase();
    let mut matching_name = None;
    for name in names {
        if name == requested_name {
            return Some(name);
        }
        if matching_name.is_none() && name.to_lowercase() == folded {
            matching_name = Some(name);
        }
    }
    matching_name
}

/// Vectors that another program computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixedVectors {
    pub(crate) dimension: usize,
    /// Models known to produce this dimension, for messages.
    pub(crate) likely_models: Vec<&'static str>,
}
