//! Search filters and results, reports of changes, and engine statistics.

use serde::{Deserialize, Serialize};

use super::{KnowledgePage, PageType};

/// Search filters. An empty list matches everything.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageFilters {
    pub page_types: Vec<PageType>,
    /// Domains. A page must have at least one of them. Ignores case and treats `_` as a space.
    pub domains: Vec<String>,
    pub min_score: Option<f64>,
}

/// How well a page matches a query, best first. Unlike scores, comparable across searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchQuality {
    Names,
    Good,
    Weak,
    /// The page is the nearest, but unrelated to the query.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageHit {
    /// The page, with its existing neighbors, sorted.
    #[serde(flatten)]
    pub page: KnowledgePage,
    /// Score from 0 to 1, comparable within one search.
    ///
    /// Half is the keyword score relative to the best hit, half the vector score relative to the best hit. A page that
    /// the query names has 1. Without a model, the best hit has 1.
    pub score: f64,
    pub fit: MatchQuality,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownDomain {
    pub domain: String,
    /// Up to three similar domains, nearest first.
    pub nearest: Vec<String>,
}

/// Results of a search in anything, best first. The order is deterministic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchResult<H> {
    pub hits: Vec<H>,
    /// Query terms that occur in nothing that was searched.
    pub unmatched_terms: Vec<String>,
    /// A limitation of this search. `None` if it was complete.
    pub note: Option<String>,
}

impl<H> Default for SearchResult<H> {
    fn default() -> Self {
        Self { hits: Vec::new(), unmatched_terms: Vec::new(), note: None }
    }
}

/// Search results, best first. The order is deterministic.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageSearchResult {
    pub hits: Vec<PageHit>,
    /// Query terms that occur in no page.
    pub unmatched_terms: Vec<String>,
    pub unknown_domains: Vec<UnknownDomain>,
    /// A limitation of this search, such as a model that did not answer or pages without vectors yet. `None` if the
    /// search was complete.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PageLookup {
    Found {
        /// The page. If several share the title, the first by id.
        page: Box<KnowledgePage>,
        /// Ids of other pages with the same title, sorted. Empty if the lookup was by id.
        namesakes: Vec<String>,
    },
    /// Up to three similar titles, nearest first.
    Missing(Vec<String>),
}

/// A link to a page that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnresolvedLink {
    pub page: String,
    pub edge: String,
    pub target: String,
}

/// An edge of unknown type. Its links are stored as `related`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnknownEdge {
    pub edge: String,
    pub links: u32,
    /// First page with such a link, by id.
    pub page: String,
}

/// Pages that moved to another source because two wiki directories have the same ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TakenOverPages {
    /// The previous wiki directory. `None` if a caller had written the pages.
    pub from: Option<String>,
    /// Page ids, sorted.
    pub pages: Vec<String>,
}

/// Location of a page that a caller wrote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PageLocation {
    pub page: String,
    /// Absolute path of its file. `None` if the page is only in the store.
    pub file: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    pub added: u32,
    pub updated: u32,
    pub unchanged: u32,
    pub removed: u32,
    pub links: u32,
    /// Links to missing pages, sorted.
    pub unresolved_links: Vec<UnresolvedLink>,
    /// Skipped files with reasons.
    pub skipped: Vec<String>,
    pub unknown_edges: Vec<UnknownEdge>,
    /// Pages that belonged to another wiki directory or to a caller before, by previous source.
    pub taken_over: Vec<TakenOverPages>,
    /// Locations of these pages. Empty after indexing a directory.
    pub written: Vec<PageLocation>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchReport {
    pub id: String,
    pub changed: Vec<String>,
    /// Absolute path of the rewritten file.
    pub file: Option<String>,
    /// The page's source file, unchanged because it is outside the allowed wiki directories.
    ///
    /// Indexing it again reverts the patch.
    pub kept_file: Option<String>,
    /// The page's date after the patch.
    pub last_updated: Option<String>,
    pub unresolved_links: Vec<UnresolvedLink>,
    pub unknown_edges: Vec<UnknownEdge>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineStatistics {
    pub engine: String,
    pub pages: u32,
    /// Links whose target exists.
    pub links: u32,
    /// Pages per type, in the order of [`PageType::ALL`]. Omits types without pages.
    pub by_type: Vec<(PageType, u32)>,
}
