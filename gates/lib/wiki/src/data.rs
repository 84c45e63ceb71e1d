//! Search replies as data. Contains the same information as the text, because a client may show either.

use gatehouse_sdk::knowledge::{Hit, Neighbour, UnknownDomain};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Kind, preview::PagePreview, shorten};

/// Search results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResults {
    pub query: String,
    /// Number of hits.
    pub found: usize,
    /// Best first.
    pub hits: Vec<HitData>,
    /// Query words that occur in no page.
    pub unmatched_terms: Vec<String>,
    /// Filter domains that no page has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown_domains: Vec<DomainData>,
    /// Limitation of this search, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Search results that a language model may have ordered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankedResults {
    #[serde(flatten)]
    pub(crate) found: SearchResults,
    /// Model that ordered the hits; absent for the engine's order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reranked_by: Option<String>,
}

/// One hit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HitData {
    /// `Type/Name`.
    pub id: String,
    pub title: String,
    pub page_type: Kind,
    /// 0 to 1, comparable within this reply.
    pub score: f64,
    /// names, good or weak; comparable across replies.
    pub fit: &'static str,
    pub domains: Vec<String>,
    pub overview: String,
    /// Parts that answer the query, or all content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_preview: Option<String>,
    /// True if nothing but the overview is omitted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Linked pages, at most five.
    pub related: Vec<RelatedData>,
}

// No descriptions: agents pay for the schema in each tool list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DomainData {
    pub(crate) domain: String,
    pub(crate) nearest: Vec<String>,
}

/// A linked page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RelatedData {
    /// Kind of link.
    pub edge: String,
    /// True if the link starts here.
    pub outgoing: bool,
    /// `Type/Name` of the other page.
    pub id: String,
    pub title: String,
}

pub(crate) const MAX_OVERVIEW_CHARS: usize = 1000;

pub(crate) const MAX_RELATED: usize = 5;

impl HitData {
    pub(crate) fn new(hit: &Hit, preview: Option<PagePreview>) -> Self {
        Self {
            id: hit.id.clone(),
            title: hit.title.clone(),
            page_type: Kind(hit.page_type),
            // The text shows two digits; more than four would be noise.
            score: (hit.score.clamp(0.0, 1.0) * 1e4).round() / 1e4,
            fit: hit.fit.name(),
            domains: hit.domains.clone(),
            overview: shorten(hit.overview.trim(), MAX_OVERVIEW_CHARS),
            whole: preview.as_ref().is_some_and(|preview| preview.whole),
            content_preview: preview.map(|preview| preview.text),
            related: hit.neighbours.iter().take(MAX_RELATED).map(RelatedData::new).collect(),
        }
    }
}

impl DomainData {
    pub(crate) fn new(unknown: UnknownDomain) -> Self {
        Self { domain: unknown.domain, nearest: unknown.nearest }
    }
}

impl RelatedData {
    pub fn new(near: &Neighbour) -> Self {
        Self {
            edge: near.edge.clone(),
            outgoing: near.outgoing,
            id: near.id.clone(),
            title: near.title.clone(),
        }
    }
}
