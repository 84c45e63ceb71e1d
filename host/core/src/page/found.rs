//! What is asked of the pages, and what comes back.

use serde::{Deserialize, Serialize};

use super::{KnowledgePage, PageType};

/// What a search is narrowed to; empty lists narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageFilters {
    /// Only pages of these types.
    pub page_types: Vec<PageType>,
    /// Only pages with any of these domains (case ignored, `_` as space).
    pub domains: Vec<String>,
    /// Only hits with at least this score, 0 to 1.
    pub min_score: Option<f64>,
}

/// How well a page answers the question that found it, best first. Unlike scores it may be compared across searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchQuality {
    /// The question names the page.
    Names,
    /// It is about what was asked.
    Good,
    /// It shares something with the question.
    Weak,
    /// It is the nearest there is and says nothing about what was asked.
    Nothing,
}

/// One page that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageHit {
    /// The page; its neighbours are those that exist, sorted.
    #[serde(flatten)]
    pub page: KnowledgePage,
    /// 0 to 1, comparable within one search: half is the share of the best by words, half that of the best by
    /// meaning; 1 for a page that the query names. Without a model the best hit has 1.
    pub score: f64,
    /// How well it answers, whatever the other hits.
    pub fit: MatchQuality,
}

/// A domain that a search was narrowed to and that no page has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownDomain {
    /// As it was asked for.
    pub domain: String,
    /// At most three domains that come nearest, nearest first.
    pub nearest: Vec<String>,
}

/// What a search found, best first; the same query gives the same order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageSearchResult {
    /// At most as many as were asked for.
    pub hits: Vec<PageHit>,
    /// Words of the query that occur in no page.
    pub unmatched_terms: Vec<String>,
    /// Domains of the filters that no page has.
    pub unknown_domains: Vec<UnknownDomain>,
    /// What the caller should know of how it was found: that the model did not answer, or that pages still
    /// wait for their vectors. None where nothing was left out.
    pub note: Option<String>,
}

/// A page, or what comes near.
#[derive(Debug, Clone, PartialEq)]
pub enum PageLookup {
    /// The page, and where it was asked for by a title, the ids of the others with that title, sorted.
    Found {
        /// The page that is meant: of several with one title the first by id.
        page: Box<KnowledgePage>,
        /// Ids of the others.
        namesakes: Vec<String>,
    },
    /// At most three titles that come nearest, nearest first.
    Missing(Vec<String>),
}
