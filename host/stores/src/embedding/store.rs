//! What is asked of an engine that stores vectors, and how the lack of some is said.

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;

/// A page that waits, with what is embedded of it.
pub(crate) struct Waiting {
    pub(crate) page: i64,
    /// The page's hash when it was read.
    pub(crate) hash: String,
    pub(crate) title: String,
    pub(crate) overview: String,
    pub(crate) domains: Vec<String>,
    pub(crate) content: String,
}

/// A vector to be stored.
pub(crate) struct Made {
    pub(crate) page: i64,
    /// The page's hash when its text was read; the vector is dropped where the page has changed since.
    pub(crate) hash: String,
    /// None where the model has nothing to say.
    pub(crate) vector: Option<Vec<f32>>,
}

/// Where vectors are stored.
#[async_trait]
pub(crate) trait VectorStore: Send + Sync {
    /// The next pages after this one, by number, that have no vector of this model, or one of another dimension.
    async fn waiting(
        &self,
        model: &str,
        dimension: Option<usize>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Waiting>, Fault>;

    /// Stores vectors of pages that are still as they were.
    async fn store(&self, model: &str, made: Vec<Made>) -> Result<(), Fault>;
}

/// What a search says where pages have no vectors yet.
pub(crate) fn waiting_note(pages: usize) -> String {
    match pages {
        1 => "1 page has no vector yet and is found by its words alone.".to_owned(),
        _ => format!("{pages} pages have no vectors yet and are found by their words alone."),
    }
}

/// What a search says where meaning had no part in it.
pub(crate) fn words_alone(why: &str) -> String {
    format!("Found by words alone: {}.", why.trim_end_matches('.'))
}
