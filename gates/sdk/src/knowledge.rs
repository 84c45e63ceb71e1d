//! The knowledge graph: wiki pages of five types, linked by typed edges, found by search. Needs the
//! grant `knowledge`, or `knowledge:read` for everything but [`upsert`], [`patch`] and [`index`].

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::knowledge as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::knowledge as host;

use crate::Fault;
pub use crate::bindings::gatehouse::gate::knowledge::{
    Changes, Draft, Filters, Fit, FoundPage, Hit, IndexOptions, IndexReport, Link, Lookup, Neighbour, Page,
    PageType, PatchReport, SearchResult, Source, Statistics, TakenOver, UnknownDomain, UnknownEdge,
    Unresolved, Written,
};

/// Finds pages. Any text is a valid query. `limit` is 1 to 100.
pub fn search(query: &str, filters: &Filters, limit: u32) -> Result<SearchResult, Fault> {
    host::search(query, filters, limit)
}

/// One page by id (`Type/Name`) or by title; `_` and space are the same.
pub fn read(id_or_title: &str) -> Result<Lookup, Fault> {
    host::read(id_or_title)
}

/// The pages one link away from the page with this id; none where there is no such page.
pub fn neighbours(id: &str) -> Result<Vec<Neighbour>, Fault> {
    host::neighbours(id)
}

/// Writes pages, new or not, all or none of them.
pub fn upsert(drafts: &[Draft]) -> Result<IndexReport, Fault> {
    host::upsert(drafts)
}

/// Changes a stored page and the wiki file it came from. With `stamp`, its last-updated becomes now.
pub fn patch(id: &str, changes: &Changes, wiki_dir: Option<&str>, stamp: bool) -> Result<PatchReport, Fault> {
    host::patch(id, changes, wiki_dir, stamp)
}

/// Makes the stored pages of a wiki folder equal to the folder; without one, of the host's own folder.
pub fn index(root: Option<&str>, options: &IndexOptions) -> Result<IndexReport, Fault> {
    host::index(root, options)
}

/// Counts.
pub fn stats() -> Result<Statistics, Fault> {
    host::stats()
}
