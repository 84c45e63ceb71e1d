//! The knowledge graph: wiki pages of five types, connected by typed edges. Needs the grant `knowledge`, or
//! `knowledge:read` for everything except [`upsert`], [`patch`] and [`index`].

pub use crate::bindings::gatehouse::gate::knowledge::{
    Changes, Draft, Filters, Fit, FoundPage, Hit, IndexOptions, IndexReport, Link, Lookup, Neighbour, Page,
    PageType, PatchReport, SearchResult, Source, Statistics, TakenOver, UnknownDomain, UnknownEdge,
    Unresolved, WriteMode, Written,
};

host_functions! {
    knowledge:

    /// Finds pages. Any text is a valid query. `limit` is 1 to 100.
    fn search(query: &str, filters: &Filters, limit: u32) -> SearchResult;

    /// Returns a page by id (`Type/Name`) or title; `_` equals space.
    fn read(id_or_title: &str) -> Lookup;

    /// Returns the pages one link away from this page; empty if the page is missing.
    fn neighbours(id: &str) -> Vec<Neighbour>;

    /// Creates or replaces pages, all or nothing.
    fn upsert(drafts: &[Draft], mode: WriteMode) -> IndexReport;

    /// Changes a stored page and its wiki file. `stamp` sets the last-updated time to now.
    fn patch(id: &str, changes: &Changes, wiki_dir: Option<&str>, stamp: bool, mode: WriteMode) -> PatchReport;

    /// Makes the stored pages of a wiki directory match its files. `None` means the host's own directory.
    fn index(root: Option<&str>, options: &IndexOptions, mode: WriteMode) -> IndexReport;

    /// Returns statistics of the graph.
    fn stats() -> Statistics;
}
