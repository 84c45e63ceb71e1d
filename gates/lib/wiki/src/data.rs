//! Search replies as data. Field for field what the text says, so that a client may show either.

use gatehouse_sdk::knowledge::{Fit, Hit, Neighbour, UnknownDomain};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Kind, preview::PagePreview, shorten};

/// What a search found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchResults {
    /// The query as it was asked.
    pub query: String,
    /// How many hits there are.
    pub found: usize,
    /// Best first.
    pub hits: Vec<HitData>,
    /// Words of the query that occur in no page.
    pub unmatched_terms: Vec<String>,
    /// Domains of the filter that no page has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unknown_domains: Vec<DomainData>,
    /// What to know of how this was found, where there is something to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a search found that a language model may have ordered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RankedResults {
    #[serde(flatten)]
    pub(crate) found: SearchResults,
    /// The model that ordered the hits; without it, the order is the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reranked_by: Option<String>,
}

/// One page that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HitData {
    /// `Type/Name`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Its type.
    pub page_type: Kind,
    /// 0 to 1, comparable within this reply.
    pub score: f64,
    /// names, good or weak; comparable across replies.
    pub fit: &'static str,
    /// Its subjects.
    pub domains: Vec<String>,
    /// What it is about.
    pub overview: String,
    /// What of the page answers the query, or all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_preview: Option<String>,
    /// Whether that is all of the page but its overview.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Linked pages, at most five.
    pub related: Vec<RelatedData>,
}

// What an agent pays for in each list of tools says only what its names do not.
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
    /// Whether the link starts here.
    pub outgoing: bool,
    /// `Type/Name` of the other page.
    pub id: String,
    /// Its heading.
    pub title: String,
}

/// Characters of an overview that a reply shows.
pub(crate) const MAX_OVERVIEW_CHARS: usize = 1000;

pub(crate) const MAX_RELATED: usize = 5;

impl HitData {
    pub(crate) fn new(hit: &Hit, preview: Option<PagePreview>) -> Self {
        Self {
            id: hit.id.clone(),
            title: hit.title.clone(),
            page_type: Kind(hit.page_type),
            // Two digits more than the text shows; an engine's last digits are noise.
            score: (hit.score.clamp(0.0, 1.0) * 1e4).round() / 1e4,
            fit: fit_name(hit.fit),
            domains: hit.domains.clone(),
            overview: shorten(hit.overview.trim(), MAX_OVERVIEW_CHARS),
            whole: preview.as_ref().is_some_and(|preview| preview.whole),
            content_preview: preview.map(|preview| preview.text),
            related: hit.neighbours.iter().take(MAX_RELATED).map(RelatedData::new).collect(),
        }
    }
}

fn fit_name(fit: Fit) -> &'static str {
    match fit {
        Fit::Names => "names",
        Fit::Good => "good",
        Fit::Weak => "weak",
        Fit::Nothing => "nothing",
    }
}

impl DomainData {
    pub(crate) fn new(unknown: UnknownDomain) -> Self {
        Self { domain: unknown.domain, nearest: unknown.nearest }
    }
}

impl RelatedData {
    /// The page at the other end.
    pub fn new(near: &Neighbour) -> Self {
        Self {
            edge: near.edge.clone(),
            outgoing: near.outgoing,
            id: near.id.clone(),
            title: near.title.clone(),
        }
    }
}
