//! What a store of documents has to be able to do. Reading folders, making text of files, cutting it into chunks and
//! putting what was found in order are done before and after, once for every engine.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::documents::{FileHead, LineRange, NewFile, Repository, RepositoryState},
    search::{NameQuery, ScoredCandidate, SearchQuery},
};

use super::prefix_queries::PrefixQuery;
use crate::{
    embedding::{VectorModel, VectorStore},
    engine::QueryVector,
};

/// The corpus that chunks of documents are.
pub(crate) const CHUNKS: &str = "chunk";

/// What is looked for in a repository.
#[derive(Debug)]
pub(crate) struct DocumentQuestion {
    /// Name of the repository, as it is stored.
    pub(crate) repository: String,
    pub(crate) query: SearchQuery,
    /// Words that a document answers by a longer word; empty for a question that asks for whole words.
    pub(crate) beginnings: Vec<PrefixQuery>,
    /// Compared with the path, the file's name and its stem.
    pub(crate) name: NameQuery,
    /// None where meaning has no part in it.
    pub(crate) vector: Option<QueryVector>,
    /// How many documents are wanted.
    pub(crate) limit: usize,
    /// How many of the best documents in each way are looked at closely: no fewer than are wanted.
    pub(crate) pool: usize,
}

/// A document that may answer a question.
#[derive(Debug, Clone)]
pub(crate) struct DocumentCandidate {
    /// Its scores; the key is its path. Its cosine is that of its nearest chunk.
    pub(crate) scored: ScoredCandidate<String>,
    pub(crate) tokens: u32,
    /// Its nearest chunk.
    pub(crate) best: Option<LineRange>,
    /// Its headings and how it begins (some 2,000 letters), to judge how well it fits.
    pub(crate) abstract_text: String,
}

/// What may answer a question: the best by name, by words and by meaning, each document once, with its scores in the
/// other ways too.
#[derive(Debug, Default)]
pub(crate) struct DocumentCandidates {
    pub(crate) candidates: Vec<DocumentCandidate>,
    /// Words of the question that no document of the repository holds.
    pub(crate) unmatched_terms: Vec<String>,
    /// Documents that have chunks without a vector of the question's model.
    pub(crate) without_vector: usize,
    /// What else the caller should know.
    pub(crate) notes: Vec<String>,
}

/// A stored document.
#[derive(Debug, Clone)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) made_from: Option<String>,
    pub(crate) tokens: u32,
}

/// How a store of documents is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentHealth {
    /// Its name, `sqlite` for example.
    pub engine: &'static str,
    /// Where it is: a file or an address, without credentials.
    pub address: String,
    /// Version of the schema there, and the newest that this binary knows; none where nothing has been stored yet, or
    /// the schema is another program's.
    pub schema: Option<(i64, i64)>,
    /// How many there are.
    pub repositories: u32,
    /// Documents in all of them.
    pub files: u32,
    /// Chunks that have no vector of the model yet.
    pub waiting: u32,
    /// Why it can keep, or search, no vectors, where it cannot.
    pub no_vectors: Option<String>,
    /// What else people should know of how documents are found there, a sentence each.
    pub notes: Vec<String>,
}

/// A store for documents. Names of repositories are compared as they are spelled, paths too. Faults are `unavailable`
/// and name the engine and its address.
#[async_trait]
pub(crate) trait DocumentEngine: Send + Sync {
    /// Every repository by name; without `guides` no guides.
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault>;

    /// How a repository is spelled that is called so: exactly so, or else without regard to case.
    async fn stored_name(&self, repository: &str) -> Result<Option<String>, Fault> {
        let names = self.repositories(false).await?.into_iter().map(|repository| repository.name);
        Ok(match_name(repository, names))
    }

    /// One repository with its guide.
    async fn state(&self, repository: &str) -> Result<Option<RepositoryState>, Fault>;

    /// Stores what is known of a repository, as [`gatehouse_core::ports::documents::DocumentStore::put_state`] says. Both
    /// dates are now; one that is stored already keeps the day when it was made.
    async fn put_state(&self, state: &RepositoryState) -> Result<(), Fault>;

    /// Every file of a repository, by path.
    async fn heads(&self, repository: &str) -> Result<Vec<FileHead>, Fault>;

    /// Stores and removes files in one transaction. A chunk whose text changed loses its vectors and waits for others.
    async fn change(&self, repository: &str, put: Vec<NewFile>, remove: Vec<String>) -> Result<(), Fault>;

    /// Removes a repository with all that is kept of it.
    async fn remove(&self, repository: &str) -> Result<bool, Fault>;

    /// One document, by its exact path.
    async fn file(&self, repository: &str, path: &str) -> Result<Option<StoredFile>, Fault>;

    /// What may answer a question.
    async fn candidates(&self, question: &Arc<DocumentQuestion>) -> Result<DocumentCandidates, Fault>;

    /// The texts of chunks by the keys that the engine gave their items: the heading that leads to each, and its text;
    /// none where it is gone.
    async fn chunk_texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault>;

    /// Where it keeps the vectors of chunks; none where another program makes them.
    fn vectors(&self) -> Option<Arc<dyn VectorStore>>;

    /// The dimension that question vectors must have, and who made the stored ones as far as that is known; none where
    /// any model will do because this host makes the vectors itself.
    async fn fixed_vectors(&self) -> Result<Option<FixedVectors>, Fault> {
        Ok(None)
    }

    /// Whether it can be reached, and how far the vectors of this model are; changes nothing there.
    async fn health(&self, model: Option<&VectorModel>) -> Result<DocumentHealth, Fault>;

    /// Ends the use of it, for hosts that stop.
    async fn close(&self) {}
}

/// The name that is meant of these: the same one, or else the first that differs in case only.
pub(crate) fn match_name(asked: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let folded = asked.to_lowercase();
    let mut found = None;
    for name in names {
        if name == asked {
            return Some(name);
        }
        if found.is_none() && name.to_lowercase() == folded {
            found = Some(name);
        }
    }
    found
}

/// Vectors that another program made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixedVectors {
    pub(crate) dimension: usize,
    /// Models that are known to make vectors of this dimension, for messages.
    pub(crate) likely_models: Vec<&'static str>,
}
