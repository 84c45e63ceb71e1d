//! Document repositories that an operator has indexed, searchable by words or by meaning. Needs the grant `documents`.

pub use crate::bindings::gatehouse::gate::documents::{
    Document, DocumentHit, Lines, Repository, SearchMode, SearchResult,
};
pub use crate::bindings::gatehouse::gate::types::Fit;

host_functions! {
    documents:

    /// Returns every repository, sorted by name. Navigation guides are included only with `guides`.
    fn repositories(guides: bool) -> Vec<Repository>;

    /// Finds documents in a repository. Any text is a valid query. `limit` is 1 to 50.
    ///
    /// # Errors
    /// `not-found` with similar names if the repository does not exist.
    fn find(repository: &str, query: &str, mode: SearchMode, limit: u32) -> SearchResult;

    /// Returns a document or the given lines of it.
    ///
    /// # Errors
    /// `not-found` with similar names if the repository or path does not exist, `invalid-arguments` if the range starts
    /// beyond the end.
    fn open(repository: &str, path: &str, lines: Option<Lines>) -> Document;
}
