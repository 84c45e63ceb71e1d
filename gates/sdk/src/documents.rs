//! Repositories of documents that an operator has indexed, searched by words or by meaning and read as text. Needs the
//! grant `documents`.

pub use crate::bindings::gatehouse::gate::documents::{
    Document, DocumentHit, Lines, Repository, SearchMode, SearchResult,
};
pub use crate::bindings::gatehouse::gate::types::Fit;

host_functions! {
    documents:

    /// Every repository, by name. Without `guides`, no navigation guides.
    fn repositories(guides: bool) -> Vec<Repository>;

    /// Finds documents of a repository. Any text is a valid query. `limit` is 1 to 50.
    ///
    /// # Errors
    /// `not-found` with the nearest names where there is no such repository.
    fn find(repository: &str, query: &str, mode: SearchMode, limit: u32) -> SearchResult;

    /// A document, whole or only these lines.
    ///
    /// # Errors
    /// `not-found` with the nearest names where there is no such repository or path, `invalid-arguments` where the
    /// lines begin beyond the end.
    fn open(repository: &str, path: &str, lines: Option<Lines>) -> Document;
}
