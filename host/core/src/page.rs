//! Pages of the knowledge graph, what is asked of them and what comes back: nouns that engines, gates'
//! capabilities and the command line share.

mod found;
mod links;
mod reports;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::outcome::Fault;

pub use found::{MatchQuality, PageFilters, PageHit, PageLookup, PageSearchResult, UnknownDomain};
pub use links::{EDGES, PageLink, PageNeighbor};
pub use reports::{
    EngineStatistics, IndexReport, PageLocation, PatchReport, TakenOverPages, UnknownEdge, UnresolvedLink,
};

/// The five kinds of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PageType {
    /// Steps that lead from a goal to a result.
    Workflow,
    /// An idea, independent of any code.
    Principle,
    /// Code that carries an idea out.
    Implementation,
    /// What code needs around it to run.
    Environment,
    /// A rule of thumb.
    Heuristic,
}

impl PageType {
    /// All five, in the order they are listed to people.
    pub const ALL: [Self; 5] =
        [Self::Workflow, Self::Principle, Self::Implementation, Self::Environment, Self::Heuristic];

    /// The name as it stands in ids and headings, `Workflow` for example.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Workflow => "Workflow",
            Self::Principle => "Principle",
            Self::Implementation => "Implementation",
            Self::Environment => "Environment",
            Self::Heuristic => "Heuristic",
        }
    }

    /// The folder of a wiki that holds pages of this type, `workflows` for example.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Workflow => "workflows",
            Self::Principle => "principles",
            Self::Implementation => "implementations",
            Self::Environment => "environments",
            Self::Heuristic => "heuristics",
        }
    }
}

impl fmt::Display for PageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PageType {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        Self::ALL.into_iter().find(|t| t.as_str().eq_ignore_ascii_case(text)).ok_or_else(|| {
            Fault::invalid(format!("'{text}' is not a page type"))
                .hint("Page types are Workflow, Principle, Implementation, Environment and Heuristic.")
        })
    }
}

/// Where a page's knowledge comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSource {
    /// For example Repo, Paper, Doc.
    pub kind: String,
    /// What to call it.
    pub title: String,
    /// Where it is.
    pub url: String,
}

/// A page, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnowledgePage {
    /// `Type/Name`.
    pub id: String,
    /// The heading, `_` shown as it stands.
    pub title: String,
    /// Its kind.
    pub page_type: PageType,
    /// The short text that search results show.
    pub overview: String,
    /// The text without heading and header table.
    pub content: String,
    /// Subjects, `_` shown as space.
    pub domains: Vec<String>,
    /// Where it comes from.
    pub sources: Vec<PageSource>,
    /// As the page says it.
    pub last_updated: Option<String>,
    /// Linked pages that exist, both directions, sorted.
    pub neighbours: Vec<PageNeighbor>,
}

/// A page to be written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageDraft {
    /// Becomes the heading, and with the type the id.
    pub title: String,
    /// Its kind.
    pub page_type: PageType,
    /// The short text.
    pub overview: String,
    /// The long text.
    pub content: String,
    /// Subjects.
    pub domains: Vec<String>,
    /// Where it comes from.
    pub sources: Vec<PageSource>,
    /// Links it declares.
    pub links: Vec<PageLink>,
}

/// What to change in a page; none leaves a field alone, a list replaces the whole list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PageChanges {
    /// New overview.
    pub overview: Option<String>,
    /// New content.
    pub content: Option<String>,
    /// New domains.
    pub domains: Option<Vec<String>>,
    /// New sources.
    pub sources: Option<Vec<PageSource>>,
    /// New links.
    pub links: Option<Vec<PageLink>>,
}
