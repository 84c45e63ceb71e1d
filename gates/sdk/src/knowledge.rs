//! The knowledge graph: wiki pages of five types, linked by typed edges, found by search. Needs the
//! grant `knowledge`, or `knowledge:read` for everything but [`upsert`], [`patch`], [`index`] and their previews.

pub use crate::bindings::gatehouse::gate::knowledge::{
    Changes, Draft, Filters, Fit, FoundPage, Hit, IndexOptions, IndexReport, Link, Lookup, Neighbour, Page,
    PageType, PatchReport, SearchResult, Source, Statistics, TakenOver, UnknownDomain, UnknownEdge,
    Unresolved, Written,
};

host_functions! {
    knowledge:

    /// Finds pages. Any text is a valid query. `limit` is 1 to 100.
    fn search(query: &str, filters: &Filters, limit: u32) -> SearchResult;

    /// One page by id (`Type/Name`) or by title; `_` and space are the same.
    fn read(id_or_title: &str) -> Lookup;

    /// The pages one link away from the page with this id; none where there is no such page.
    fn neighbours(id: &str) -> Vec<Neighbour>;

    /// Writes pages, new or not, all or none of them.
    fn upsert(drafts: &[Draft]) -> IndexReport;

    /// Changes a stored page and the wiki file it came from. With `stamp`, its last-updated becomes now.
    fn patch(id: &str, changes: &Changes, wiki_dir: Option<&str>, stamp: bool) -> PatchReport;

    /// Makes the stored pages of a wiki folder equal to the folder; without one, of the host's own folder.
    fn index(root: Option<&str>, options: &IndexOptions) -> IndexReport;

    /// Reports what [`upsert`] would do, and changes nothing.
    fn preview_upsert(drafts: &[Draft]) -> IndexReport;

    /// Reports what [`patch`] would do, and changes nothing.
    fn preview_patch(id: &str, changes: &Changes, wiki_dir: Option<&str>, stamp: bool) -> PatchReport;

    /// Reports what [`index`] would do: reads the folder, and changes nothing.
    fn preview_index(root: Option<&str>, options: &IndexOptions) -> IndexReport;

    /// Counts.
    fn stats() -> Statistics;
}
