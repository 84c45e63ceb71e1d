//! Search replies as data. Field for field what the text says, so that a client may show either.

use gatehouse_sdk::knowledge::{Hit, Neighbour};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Kind, preview, shorten};

/// What a search found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// The query as it was asked.
    pub query: String,
    /// How many hits there are.
    pub found: usize,
    /// Best first.
    pub hits: Vec<HitData>,
    /// Words of the query that occur in no page.
    pub unmatched_terms: Vec<String>,
    /// What to know of how this was found, where there is something to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What a search found that a language model may have ordered.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ordered {
    #[serde(flatten)]
    pub(crate) found: Found,
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
    /// Its subjects.
    pub domains: Vec<String>,
    /// What it is about.
    pub overview: String,
    /// How the page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_preview: Option<String>,
    /// Linked pages, at most five.
    pub related: Vec<RelatedData>,
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

/// Characters of an overview that a search shows; the page itself shows all of it.
const OVERVIEW_MAX: usize = 1000;

/// Linked pages that a hit names.
pub(crate) const RELATED_MAX: usize = 5;

impl HitData {
    /// The hit, with a preview of so many characters if any.
    pub(crate) fn new(hit: &Hit, preview_chars: Option<usize>) -> Self {
        Self {
            id: hit.id.clone(),
            title: hit.title.clone(),
            page_type: Kind(hit.page_type),
            // Two digits more than the text shows; an engine's last digits are noise.
            score: (hit.score.clamp(0.0, 1.0) * 1e4).round() / 1e4,
            domains: hit.domains.clone(),
            overview: shorten(hit.overview.trim(), OVERVIEW_MAX),
            content_preview: preview_chars.map(|max| preview(&hit.content, max)),
            related: hit.neighbours.iter().take(RELATED_MAX).map(RelatedData::new).collect(),
        }
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
