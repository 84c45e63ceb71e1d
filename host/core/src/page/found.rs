//! Search filters and search results.

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
